// The text of GET /: the tools that this server serves, and the setting that each of them needs.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { VERSION } from '../../core/version.ts';

/** HOST is the server's address, TEAM any namespace. docs/PROTOCOLS.md explains each setting. */
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
  BuildKit: 'type=gha,version=2,url_v2=http://HOST/',
  'lage, Azure': 'BlobEndpoint=http://HOST/azure',
  'GitHub Actions cache': 'ACTIONS_RESULTS_URL=http://HOST/',
};

const HOST = /^[0-9A-Za-z.:[\]_-]+$/;

/** For build tools and curl. */
export function sendFrontPage({ headers }: FastifyRequest, reply: FastifyReply): string {
  reply.type('text/plain; charset=utf-8');
  return frontPage(headers.host);
}

/** Repeats the Host header only if it is a host. */
function frontPage(host = ''): string {
  const address = HOST.test(host) ? host : 'HOST';
  const width = Math.max(...Object.keys(SETTINGS).map((tool) => tool.length));
  const lines = Object.entries(SETTINGS).map(
    ([tool, setting]) => `  ${tool.padEnd(width)}  ${setting.replace('//HOST', `//${address}`)}`,
  );
  return [
    `Assay ${VERSION}, a build cache.`,
    '',
    'The setting for each tool (TEAM is any name: each has its own keys; more by `assay help protocols`):',
    '',
    ...lines,
    '',
    'About this server: /status, /metrics, /healthz, /readyz',
    '',
  ].join('\n');
}
