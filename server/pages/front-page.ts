// GET /: which tools this server serves and what to tell each of them, for the person who looks at its address.
import { VERSION } from '../../core/version.ts';
import type { Exchange } from '../http/exchange.ts';
import { onlyReading } from './status.ts';

/** HOST stands for the server's address, and TEAM for any namespace. docs/PROTOCOLS.md shows each in its place. */
export const SETTINGS: Readonly<Record<string, string>> = {
  'assay run': 'ASSAY_REMOTE=http://HOST/TEAM',
  'Bazel, gRPC': '--remote_cache=grpc://HOST --remote_instance_name=TEAM',
  'Bazel, HTTP': '--remote_cache=http://HOST/TEAM',
  recc: 'RECC_SERVER=http://HOST RECC_CACHE_ONLY=1',
  BuildStream: 'url: http://HOST',
  'moon, gRPC': "host: 'grpc://HOST'",
  'moon, HTTP': "host: 'http://HOST'",
  ccache: 'CCACHE_REMOTE_STORAGE=http://HOST/ccache/TEAM',
  'sccache, S3': 'SCCACHE_ENDPOINT=http://HOST/s3',
  'sccache, WebDAV': 'SCCACHE_WEBDAV_ENDPOINT=http://HOST/webdav/TEAM',
  Gradle: "url = 'http://HOST/gradle/TEAM/'",
  Turborepo: 'TURBO_API=http://HOST',
  Nx: 'NX_SELF_HOSTED_REMOTE_CACHE_SERVER=http://HOST',
  Rush: '"url": "http://HOST/rush/TEAM/"',
  'lage, Azure': 'BlobEndpoint=http://HOST/azure',
  'GitHub Actions cache': 'ACTIONS_RESULTS_URL=http://HOST/',
};

const HOST = /^[0-9A-Za-z.:[\]_-]+$/;

export async function frontPage(exchange: Exchange): Promise<void> {
  onlyReading(exchange);
  const { host = '' } = exchange.request.headers;
  const address = HOST.test(host) ? host : 'HOST';
  const width = Math.max(...Object.keys(SETTINGS).map((tool) => tool.length));
  const lines = Object.entries(SETTINGS).map(
    ([tool, setting]) => `  ${tool.padEnd(width)}  ${setting.replace('//HOST', `//${address}`)}`,
  );
  const page = [
    `Assay ${VERSION}, a build cache.`,
    '',
    'What to tell each tool (TEAM: any name, for keys of its own; more in docs/PROTOCOLS.md):',
    '',
    ...lines,
    '',
    'About this server: /status, /metrics, /healthz',
    '',
  ];
  exchange.answer(200, ['content-type', 'text/plain; charset=utf-8'], Buffer.from(page.join('\n')));
}
