// The pages of the documentation at /docs of a server. Everybody may read them: they are those of the package.
//
// Guarantees:
// - Only GET and HEAD below /docs are answered here. The caches of clients with the prefix `docs` go on
//   (server/routes.ts asks the protocols first).
// - No part of a URL reaches the file system: a page is one of the list that the build wrote.
// - A page runs only the scripts of the build, and loads nothing from elsewhere (Content-Security-Policy).
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { AssayError } from '../../core/errors.ts';
import { onlyMethods } from '../../server/http/app.ts';
import type { ServerPart } from '../../server/server-port.ts';
import { type DocsFile, findDocs, PLACES } from './files.ts';

const PUBLIC = { route: 'page', isPublic: true } as const;
const HOME = '/docs/';

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

/** `places`: the folders in which the pages may lie. */
export function manualPart(places: readonly string[] = PLACES): ServerPart {
  return {
    async routes(app: FastifyInstance): Promise<void> {
      const docs = findDocs(places);
      onlyMethods(app, '/docs', { config: PUBLIC }, 'GET', 'HEAD');
      app.get('/docs', { config: PUBLIC }, (_, reply) => reply.redirect(HOME, 308));
      onlyMethods(app, `${HOME}*`, { config: PUBLIC }, 'GET', 'HEAD');
      app.get<{ Params: { '*': string } }>(`${HOME}*`, { config: PUBLIC }, async ({ params }, reply) => {
        if (!docs)
          throw new AssayError(
            'ASSAY_NOT_FOUND',
            'this build has no documentation: in a checkout, `npm run docs` makes it, and `npm run release` packs it',
          );
        const file = docs.get(params['*']);
        if (!file) throw new AssayError('ASSAY_NOT_FOUND', 'the documentation has no such page');
        return send(reply, file);
      });
    },
  };
}

async function send(reply: FastifyReply, { path, scripts, isVersioned }: DocsFile): Promise<Buffer> {
  const body = await readFile(path).catch(() => undefined);
  /* An upgrade of the package removes its files while the server runs. */
  if (!body)
    throw new AssayError('ASSAY_NOT_FOUND', 'this page was removed since the server started: start it again');
  reply.headers(headersOf(scripts)).type(TYPES[extname(path)] ?? 'application/octet-stream');
  reply.header('cache-control', isVersioned ? 'public, max-age=31536000, immutable' : 'no-cache');
  return body;
}

function headersOf(scripts: readonly string[]): Record<string, string> {
  return {
    'content-security-policy': [
      "default-src 'none'",
      ['script-src', "'self'", ...scripts.map((digest) => `'${digest}'`)].join(' '),
      /* The highlighted code of the pages has its colours in `style` attributes. */
      "style-src 'self' 'unsafe-inline'",
      "img-src 'self' data:",
      "font-src 'self'",
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
  };
}
