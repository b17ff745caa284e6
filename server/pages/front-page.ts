// The text of GET /: the tools that this server serves, and the setting that each of them needs.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { VERSION } from '../../core/version.ts';
import { TOOLS } from '../request/tools.ts';

const SETTINGS = TOOLS.flatMap(({ settings = {} }) => Object.entries(settings));

const HOST = /^[0-9A-Za-z.:[\]_-]+$/;

/** For build tools and curl. */
export function sendFrontPage({ headers }: FastifyRequest, reply: FastifyReply): string {
  reply.type('text/plain; charset=utf-8');
  return frontPage(headers.host);
}

/** Repeats the Host header only if it is a host. */
function frontPage(host = ''): string {
  const address = HOST.test(host) ? host : 'HOST';
  const width = Math.max(...SETTINGS.map(([tool]) => tool.length));
  const lines = SETTINGS.map(
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
