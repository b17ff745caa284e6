// Each protocol and each tool has one row here: its name, what it sends, and how a person sets it up.
// Metrics, the text at /, the page Set up, GET /api/v1/setup and the accounting of requests read it; docs/PROTOCOLS.md
// explains the settings. server/adapters.ts has the code of the protocols.

import { DEFAULT_NAMESPACE } from '../../core/namespace.ts';
import { asJwt } from '../../core/tokens/jwt.ts';

/** The protocols with opaque keys. Each has its own base path, key space and count. */
export const PROTOCOLS = [
  'ccache',
  'gradle',
  'turbo',
  'nx',
  'rush',
  'actions',
  'azure',
  's3',
  'webdav',
  'labels',
  'path-sets',
  'mise',
  'vite-plus',
] as const;

export type Protocol = (typeof PROTOCOLS)[number];

export interface ServerAddress {
  /** Host and port, as the request named them. */
  readonly host: string;
  readonly isTls: boolean;
  /** Without it, the lines with a token are left out. */
  readonly needsToken: boolean;
}

export interface KnownTool {
  readonly name: string;
  /** The names that it gives itself, in RequestMetadata or as its User-Agent. */
  readonly sends?: readonly string[];
  /** Its keys are its own: no action of the Remote Execution API is known of them. */
  readonly hasOwnKeys?: true;
  /** The protocols that it speaks, if their requests without a name are its own. */
  readonly protocols?: readonly string[];
  /** Its requests are those over these protocols alone: the same tool has several rows. */
  readonly onlyOver?: readonly string[];
  /** It sends what this other tool sends. */
  readonly countsAs?: string;
  /** The lines of the text at /: HOST is the server's address, TEAM any namespace. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly setup?: {
    /** Where the snippet goes, after "Write this". */
    readonly where: string;
    /** TEAM stands for a namespace, TOKEN for a token. */
    snippet(address: ServerAddress): string;
  };
}

const IN_SHELL = 'in the shell or in the variables of the CI job';

/** Lines with TOKEN are left out where none is needed. */
function lines(...all: readonly string[]): (address: ServerAddress) => string {
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

export const TOOLS: readonly KnownTool[] = [
  {
    name: 'assay run',
    sends: ['assay'],
    settings: { 'assay run': 'ASSAY_REMOTE=http://HOST/TEAM' },
    setup: {
      where: IN_SHELL,
      snippet: lines('export ASSAY_REMOTE=http://HOST/TEAM', 'export ASSAY_TOKEN=TOKEN'),
    },
  },
  {
    name: 'Bazel, gRPC',
    sends: ['bazel'],
    onlyOver: ['grpc'],
    settings: { 'Bazel, gRPC': '--remote_cache=grpc://HOST --remote_instance_name=TEAM' },
    setup: {
      where: 'in .bazelrc',
      snippet: lines(
        'build --remote_cache=grpc://HOST --remote_instance_name=TEAM',
        'build --remote_header=authorization="Bearer TOKEN"',
      ),
    },
  },
  {
    name: 'Bazel, HTTP',
    sends: ['bazel'],
    protocols: ['http'],
    onlyOver: ['http'],
    settings: { 'Bazel, HTTP': '--remote_cache=http://HOST/TEAM' },
    setup: {
      where: 'in .bazelrc',
      snippet: lines(
        'build --remote_cache=http://HOST/TEAM',
        'build --remote_header=authorization="Bearer TOKEN"',
      ),
    },
  },
  {
    name: 'Bazel, persistent worker',
    countsAs: 'assay run',
    setup: {
      where: 'in the script that is the rule’s executable',
      snippet: lines(
        'export ASSAY_REMOTE=http://HOST/TEAM',
        'export ASSAY_TOKEN=TOKEN',
        'exec assay bazel-worker --output-flag=--out -- "$@"',
      ),
    },
  },
  {
    name: 'moon',
    sends: ['moon'],
    settings: { 'moon, gRPC': "host: 'grpc://HOST'", 'moon, HTTP': "host: 'http://HOST'" },
    setup: {
      where: 'in .moon/workspace.yml',
      snippet: lines(
        'remote:',
        "  host: 'grpc://HOST'",
        "  api: 'grpc'",
        "  auth: { token: 'ASSAY_TOKEN' }   # the name of a variable that holds it",
        "  cache: { instanceName: 'TEAM', compression: 'zstd' }",
      ),
    },
  },
  {
    name: 'recc',
    sends: ['recc'],
    settings: { recc: 'RECC_SERVER=http://HOST RECC_CACHE_ONLY=1' },
    setup: {
      where: IN_SHELL,
      snippet: lines(
        'export RECC_SERVER=http://HOST RECC_CACHE_ONLY=1',
        'export RECC_CACHE_UPLOAD_LOCAL_BUILD=1 RECC_INSTANCE=TEAM',
      ),
    },
  },
  {
    name: 'BuildStream',
    sends: ['buildstream', 'buildbox'],
    protocols: ['asset'],
    settings: { BuildStream: 'url: http://HOST' },
    setup: {
      where: 'in buildstream.conf',
      snippet: lines(
        'artifacts:',
        '  servers:',
        '  - url: http://HOST',
        '    instance-name: TEAM',
        '    push: true',
      ),
    },
  },
  {
    name: 'ccache',
    sends: ['ccache'],
    hasOwnKeys: true,
    protocols: ['ccache'],
    settings: { ccache: 'CCACHE_REMOTE_STORAGE=http://HOST/ccache/TEAM' },
    setup: {
      where: IN_SHELL,
      snippet: (address) =>
        address.needsToken
          ? lines("export CCACHE_REMOTE_STORAGE='http://HOST/ccache/TEAM|bearer-token=TOKEN'")(address)
          : lines('export CCACHE_REMOTE_STORAGE=http://HOST/ccache/TEAM')(address),
    },
  },
  {
    name: 'sccache, S3',
    sends: ['sccache'],
    hasOwnKeys: true,
    protocols: ['s3'],
    onlyOver: ['s3'],
    settings: { 'sccache, S3': 'SCCACHE_ENDPOINT=http://HOST/s3' },
    setup: {
      where: IN_SHELL,
      snippet: (address) =>
        lines(
          'export SCCACHE_ENDPOINT=http://HOST/s3 SCCACHE_BUCKET=TEAM SCCACHE_REGION=auto',
          address.needsToken
            ? 'eval "$(assay login --s3)"             # AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY'
            : 'export SCCACHE_S3_NO_CREDENTIALS=true',
        )(address),
    },
  },
  {
    name: 'sccache, WebDAV',
    sends: ['sccache'],
    hasOwnKeys: true,
    protocols: ['webdav'],
    onlyOver: ['webdav'],
    settings: { 'sccache, WebDAV': 'SCCACHE_WEBDAV_ENDPOINT=http://HOST/webdav/TEAM' },
    setup: {
      where: IN_SHELL,
      snippet: lines(
        'export SCCACHE_WEBDAV_ENDPOINT=http://HOST/webdav/TEAM',
        'export SCCACHE_WEBDAV_TOKEN=TOKEN',
      ),
    },
  },
  {
    name: 'Gradle',
    sends: ['gradle'],
    hasOwnKeys: true,
    protocols: ['gradle'],
    settings: { Gradle: "url = 'http://HOST/gradle/TEAM/'" },
    setup: {
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
  },
  {
    name: 'Go',
    sends: ['gocacheprog'],
    hasOwnKeys: true,
    setup: {
      where: IN_SHELL,
      snippet: lines(
        'export GOCACHEPROG="assay gocacheprog --remote http://HOST/TEAM"',
        'export ASSAY_TOKEN=TOKEN',
      ),
    },
  },
  {
    name: 'Turborepo',
    sends: ['turbo'],
    hasOwnKeys: true,
    protocols: ['turbo'],
    settings: { Turborepo: 'TURBO_API=http://HOST' },
    setup: {
      where: IN_SHELL,
      snippet: (address) =>
        lines(
          'export TURBO_API=http://HOST TURBO_TEAM=TEAM',
          address.needsToken
            ? 'export TURBO_TOKEN=TOKEN'
            : 'export TURBO_TOKEN=any                  # Turborepo asks no server without one',
        )({ ...address, needsToken: true }),
    },
  },
  {
    name: 'Nx',
    sends: ['nx'],
    hasOwnKeys: true,
    protocols: ['nx'],
    settings: { Nx: 'NX_SELF_HOSTED_REMOTE_CACHE_SERVER=http://HOST' },
    setup: {
      where: IN_SHELL,
      snippet: lines(
        'export NX_SELF_HOSTED_REMOTE_CACHE_SERVER=http://HOST/nx/TEAM',
        'export NX_SELF_HOSTED_REMOTE_CACHE_ACCESS_TOKEN=TOKEN',
      ),
    },
  },
  {
    name: 'Rush',
    sends: ['rush'],
    hasOwnKeys: true,
    protocols: ['rush'],
    settings: { Rush: '"url": "http://HOST/rush/TEAM/"' },
    setup: {
      where: 'in common/config/rush/build-cache.json; a token in RUSH_BUILD_CACHE_CREDENTIAL',
      snippet: lines(
        '{',
        '  "buildCacheEnabled": true,',
        '  "cacheProvider": "http",',
        '  "httpConfiguration": { "url": "http://HOST/rush/TEAM/", "isCacheWriteAllowed": true }',
        '}',
      ),
    },
  },
  {
    name: 'mise',
    hasOwnKeys: true,
    protocols: ['mise'],
    settings: { mise: 'MISE_TASK_CACHE_REMOTE_URL=http://HOST/mise/' },
    setup: {
      where: IN_SHELL,
      snippet: lines(
        'export MISE_TASK_CACHE_REMOTE_URL=http://HOST/mise/',
        'export MISE_TASK_CACHE_REMOTE_NAMESPACE=TEAM',
        'export MISE_TASK_CACHE_REMOTE_TOKEN=TOKEN',
      ),
    },
  },
  {
    name: 'Vite+',
    hasOwnKeys: true,
    protocols: ['vite-plus'],
    settings: { 'Vite+': 'VP_REMOTE_CACHE_URL=http://HOST/vite-plus/TEAM' },
    setup: {
      where: IN_SHELL,
      snippet: (address) =>
        lines(
          'export VP_REMOTE_CACHE_URL=http://HOST/vite-plus/TEAM',
          'export VP_REMOTE_CACHE=read-write',
        )(address).replace('://', address.needsToken ? '://token:TOKEN@' : '://'),
    },
  },
  {
    name: 'lage, backfill',
    sends: ['lage'],
    hasOwnKeys: true,
    protocols: ['azure'],
    settings: { 'lage, Azure': 'BlobEndpoint=http://HOST/azure' },
    setup: {
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
  },
  {
    name: 'GitHub Actions cache',
    protocols: ['actions'],
    settings: { 'GitHub Actions cache': 'ACTIONS_RESULTS_URL=http://HOST/' },
    setup: {
      where: IN_SHELL,
      snippet: lines(
        'export ACTIONS_CACHE_SERVICE_V2=true ACTIONS_RESULTS_URL=http://HOST/',
        'export ACTIONS_RUNTIME_TOKEN=TOKEN',
      ),
    },
  },
  {
    name: 'BuildKit',
    sends: ['buildkit'],
    hasOwnKeys: true,
    settings: { BuildKit: 'type=gha,version=2,url_v2=http://HOST/' },
    setup: {
      where: 'after docker buildx build; the token is one of assay token create --jwt',
      snippet: (address) => {
        const token = address.needsToken ? 'TOKEN' : ANY_JWT;
        return lines(
          `--cache-from type=gha,version=2,url_v2=http://HOST/,token=${token}`,
          `--cache-to type=gha,version=2,url_v2=http://HOST/,token=${token},mode=max,ignore-error=true`,
        )(address);
      },
    },
  },
  {
    name: 'wireit',
    countsAs: 'GitHub Actions cache',
    setup: {
      where: 'in the shell or in the variables of the CI job; wireit uses https alone',
      snippet: lines(
        'export ACTIONS_CACHE_SERVICE_V2=true',
        'export ACTIONS_RESULTS_URL=http://HOST/',
        'export ACTIONS_RUNTIME_TOKEN=TOKEN',
      ),
    },
  },
  { name: 'Buck2', sends: ['buck2'] },
  { name: 'goma', sends: ['goma'] },
  { name: 'Pants', sends: ['pants'] },
  { name: 'Please', sends: ['please'] },
  { name: 'reclient', sends: ['reclient'] },
  { name: 'Siso', sends: ['siso'] },
];

/** The name of a tool if nothing in a request says another one is its protocol. */
export const KNOWN_NAMES: ReadonlySet<string> = new Set(TOOLS.flatMap(({ sends = [] }) => sends));

/** Labels name results of any tool, and path sets lead to those of actions. */
const WITH_ACTIONS: readonly string[] = ['labels', 'path-sets'];

const WITHOUT_ACTIONS: ReadonlySet<string> = new Set([
  'asset',
  ...PROTOCOLS.filter((protocol) => !WITH_ACTIONS.includes(protocol)),
  ...TOOLS.flatMap(({ hasOwnKeys, sends = [] }) => (hasOwnKeys ? sends : [])),
]);

/** False for what has keys of its own. `tool`: as a request is counted, by its tool or its protocol. */
export function mayHaveActions(tool: string): boolean {
  return !WITHOUT_ACTIONS.has(tool);
}
