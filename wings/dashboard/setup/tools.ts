// The tools that the server serves, and what to write for each of them. docs/PROTOCOLS.md explains the settings.
// The page Set up and GET /api/v1/setup show them with the server's own address.

import { DEFAULT_NAMESPACE } from '../../../core/namespace.ts';
import { asJwt } from '../../../core/tokens/jwt.ts';

export interface Address {
  /** Host and port, as the request named them. */
  readonly host: string;
  readonly isTls: boolean;
  /** Without it, the lines with a token are left out. */
  readonly needsToken: boolean;
}

export interface Tool {
  readonly name: string;
  /** Where the snippet goes, after "Write this". */
  readonly where: string;
  /** TEAM stands for a namespace, TOKEN for a token. */
  snippet(address: Address): string;
}

const IN_SHELL = 'in the shell or in the variables of the CI job';

/** Lines with TOKEN are left out where none is needed. */
function lines(...all: readonly string[]): (address: Address) => string {
  return ({ host, isTls, needsToken }) =>
    all
      .filter((line) => needsToken || !line.includes('TOKEN'))
      .join('\n')
      .replaceAll('http://HOST', `${isTls ? 'https' : 'http'}://${host}`)
      .replaceAll('grpc://HOST', `${isTls ? 'grpcs' : 'grpc'}://${host}`);
}

/** BuildKit refuses to ask without a JWT; a server without tokens takes any. */
const ANY_JWT = asJwt('bm9uZQ', {
  namespace: DEFAULT_NAMESPACE,
  reads: [],
  mayRead: true,
  mayWrite: true,
  expiresAt: undefined,
});

export const TOOLS: readonly Tool[] = [
  {
    name: 'assay run',
    where: IN_SHELL,
    snippet: lines('export ASSAY_REMOTE=http://HOST/TEAM', 'export ASSAY_TOKEN=TOKEN'),
  },
  {
    name: 'Bazel, gRPC',
    where: 'in .bazelrc',
    snippet: lines(
      'build --remote_cache=grpc://HOST --remote_instance_name=TEAM',
      'build --remote_header=authorization="Bearer TOKEN"',
    ),
  },
  {
    name: 'Bazel, HTTP',
    where: 'in .bazelrc',
    snippet: lines(
      'build --remote_cache=http://HOST/TEAM',
      'build --remote_header=authorization="Bearer TOKEN"',
    ),
  },
  {
    name: 'Bazel, persistent worker',
    where: 'in the script that is the rule’s executable',
    snippet: lines(
      'export ASSAY_REMOTE=http://HOST/TEAM',
      'export ASSAY_TOKEN=TOKEN',
      'exec assay bazel-worker --output-flag=--out -- "$@"',
    ),
  },
  {
    name: 'moon',
    where: 'in .moon/workspace.yml',
    snippet: lines(
      'remote:',
      "  host: 'grpc://HOST'",
      "  api: 'grpc'",
      "  auth: { token: 'ASSAY_TOKEN' }   # the name of a variable that holds it",
      "  cache: { instanceName: 'TEAM', compression: 'zstd' }",
    ),
  },
  {
    name: 'recc',
    where: IN_SHELL,
    snippet: lines(
      'export RECC_SERVER=http://HOST RECC_CACHE_ONLY=1',
      'export RECC_CACHE_UPLOAD_LOCAL_BUILD=1 RECC_INSTANCE=TEAM',
    ),
  },
  {
    name: 'BuildStream',
    where: 'in buildstream.conf',
    snippet: lines(
      'artifacts:',
      '  servers:',
      '  - url: http://HOST',
      '    instance-name: TEAM',
      '    push: true',
    ),
  },
  {
    name: 'ccache',
    where: IN_SHELL,
    snippet: (address) =>
      address.needsToken
        ? lines("export CCACHE_REMOTE_STORAGE='http://HOST/ccache/TEAM|bearer-token=TOKEN'")(address)
        : lines('export CCACHE_REMOTE_STORAGE=http://HOST/ccache/TEAM')(address),
  },
  {
    name: 'sccache, S3',
    where: IN_SHELL,
    snippet: (address) =>
      lines(
        'export SCCACHE_ENDPOINT=http://HOST/s3 SCCACHE_BUCKET=TEAM SCCACHE_REGION=auto',
        address.needsToken
          ? 'eval "$(assay login --s3)"             # AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY'
          : 'export SCCACHE_S3_NO_CREDENTIALS=true',
      )(address),
  },
  {
    name: 'sccache, WebDAV',
    where: IN_SHELL,
    snippet: lines(
      'export SCCACHE_WEBDAV_ENDPOINT=http://HOST/webdav/TEAM',
      'export SCCACHE_WEBDAV_TOKEN=TOKEN',
    ),
  },
  {
    name: 'Gradle',
    where: 'in settings.gradle, and org.gradle.caching=true in gradle.properties',
    snippet: (address) =>
      lines(
        'buildCache {',
        '  remote(HttpBuildCache) {',
        "    url = 'http://HOST/gradle/TEAM/'",
        '    push = true',
        ...(address.isTls ? [] : ['    allowInsecureProtocol = true']),
        "    credentials { username = 'anybody'; password = 'TOKEN' }",
        '  }',
        '}',
      )(address),
  },
  {
    name: 'Go',
    where: IN_SHELL,
    snippet: lines(
      'export GOCACHEPROG="assay gocacheprog --remote http://HOST/TEAM"',
      'export ASSAY_TOKEN=TOKEN',
    ),
  },
  {
    name: 'Turborepo',
    where: IN_SHELL,
    snippet: (address) =>
      lines(
        'export TURBO_API=http://HOST TURBO_TEAM=TEAM',
        address.needsToken
          ? 'export TURBO_TOKEN=TOKEN'
          : 'export TURBO_TOKEN=any                  # Turborepo asks no server without one',
      )({ ...address, needsToken: true }),
  },
  {
    name: 'Nx',
    where: IN_SHELL,
    snippet: lines(
      'export NX_SELF_HOSTED_REMOTE_CACHE_SERVER=http://HOST/nx/TEAM',
      'export NX_SELF_HOSTED_REMOTE_CACHE_ACCESS_TOKEN=TOKEN',
    ),
  },
  {
    name: 'Rush',
    where: 'in common/config/rush/build-cache.json; a token in RUSH_BUILD_CACHE_CREDENTIAL',
    snippet: lines(
      '{',
      '  "buildCacheEnabled": true,',
      '  "cacheProvider": "http",',
      '  "httpConfiguration": { "url": "http://HOST/rush/TEAM/", "isCacheWriteAllowed": true }',
      '}',
    ),
  },
  {
    name: 'lage, backfill',
    where: 'in lage.config.js or backfill.config.js',
    snippet: (address) =>
      lines(
        'cacheStorageConfig: {',
        "  provider: 'azure-blob',",
        '  options: {',
        address.needsToken
          ? "    connectionString: 'BlobEndpoint=http://HOST/azure;SharedAccessSignature=sig=TOKEN',"
          : "    connectionString: 'BlobEndpoint=http://HOST/azure;SharedAccessSignature=sig=none',",
        "    container: 'TEAM',",
        '  },',
        '}',
      )(address),
  },
  {
    name: 'GitHub Actions cache',
    where: IN_SHELL,
    snippet: lines(
      'export ACTIONS_CACHE_SERVICE_V2=true ACTIONS_RESULTS_URL=http://HOST/',
      'export ACTIONS_RUNTIME_TOKEN=TOKEN',
    ),
  },
  {
    name: 'BuildKit',
    where: 'after docker buildx build; the token is one of assay token create --jwt',
    snippet: (address) => {
      const token = address.needsToken ? 'TOKEN' : ANY_JWT;
      return lines(
        `--cache-from type=gha,version=2,url_v2=http://HOST/,token=${token}`,
        `--cache-to type=gha,version=2,url_v2=http://HOST/,token=${token},mode=max,ignore-error=true`,
      )(address);
    },
  },
  {
    name: 'wireit',
    where: 'in the shell or in the variables of the CI job; wireit uses https alone',
    snippet: lines(
      'export ACTIONS_CACHE_SERVICE_V2=true',
      'export ACTIONS_RESULTS_URL=http://HOST/',
      'export ACTIONS_RUNTIME_TOKEN=TOKEN',
    ),
  },
];
