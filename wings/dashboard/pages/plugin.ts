// The pages as a fastify plugin, with the login and the files that they load.
//
// Guarantees:
// - A page needs a credential with the right `results:read` or `overview`: a token in the header, or the cookie of a login.
// - A token is in no URL and in no log. Failed logins of one address are limited.
// - Scripts, styles and data come from this server alone, and nothing inline runs (Content-Security-Policy).
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AssayError } from '../../../core/errors.ts';
import type { NamespaceRange } from '../../../core/namespace.ts';
import type { Identity } from '../../../server/access/identity.ts';
import { isMet, READ_RUNS } from '../../../server/access/rights.ts';
import { acceptsHtml, authorize, onlyMethods } from '../../../server/http/app.ts';
import { type ErrorFormat, jsonErrors } from '../../../server/http/error-response.ts';
import { receiveWhole } from '../../../server/http/upload.ts';
import { ACCESS } from '../../../server/limits.ts';
import { sendFrontPage } from '../../../server/pages/front-page.ts';
import { FailedExchanges } from '../../../server/protocols/auth/failures.ts';
import { ASSETS_PATH, findAsset } from './assets.ts';
import { continuePage, errorPage, loginPage, ownPath } from './login.ts';
import { document, type PageContent, type Viewer } from './shell.ts';

export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  /** With `no-referrer`, browsers would send the login with the origin "null". */
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
};

const HTML = 'text/html; charset=utf-8';
const FORM = 'application/x-www-form-urlencoded';

/** A browser gets a page for each error: the login, one more attempt, or what is wrong. */
export const HTML_ERRORS: ErrorFormat = {
  type: HTML,
  methods: 'GET, HEAD',
  headers: Object.entries(PAGE_HEADERS).flat(),
  isChallenging: false,
  body({ code, entry: { summary, hint } }, message, request) {
    const url = ownPath(request?.url);
    if (code === 'ASSAY_UNAUTHORIZED') return continuePage(`/login?next=${encodeURIComponent(url)}`);
    if (code === 'ASSAY_FOREIGN_ORIGIN' && isNavigation(request)) return continuePage(url);
    return errorPage(summary, message === summary ? '' : message, hint, code);
  },
};

function isNavigation(request: IncomingMessage | undefined): boolean {
  return request?.method === 'GET' && request.headers['sec-fetch-dest'] === 'document';
}

const PAGE = { route: 'page', htmlErrors: HTML_ERRORS, acceptsSession: true } as const;
const PUBLIC = { ...PAGE, isPublic: true } as const;

/** Another page of this server is meant. */
interface Redirect {
  readonly path: string;
  readonly isElsewhere: true;
}

/** A page as a function of its request. It throws ASSAY_NOT_FOUND if there is no such thing. */
export type Renderer = (request: FastifyRequest) => Promise<PageContent | Redirect> | PageContent | Redirect;

/** `pages` are the renderers by the URL of their route. */
export function dashboardPages(pages: Readonly<Record<string, Renderer>>) {
  return async (app: FastifyInstance): Promise<void> => {
    for (const [url, render] of Object.entries(pages)) {
      const isRoot = url === '/';
      const config = isRoot ? PUBLIC : PAGE;
      onlyMethods(app, url, { config }, 'GET', 'HEAD');
      app.get(url, { config }, async (request, reply) => {
        if (isRoot) {
          reply.header('vary', 'accept');
          /* Build tools and curl keep the text that they know. */
          if (!acceptsHtml(request)) return sendFrontPage(request, reply);
          await authorize(request, request.exchange, config);
        }
        request.exchange.require(READ_RUNS);
        const page = await render(request);
        if ('isElsewhere' in page) return reply.headers(PAGE_HEADERS).redirect(page.path, 303);
        return sendPage(reply, document(page, await viewerOf(request)));
      });
    }
    assetRoutes(app);
    await app.register(loginRoutes);
  };
}

function sendPage(reply: FastifyReply, text: string): string {
  reply.headers(PAGE_HEADERS).type(HTML);
  return text;
}

async function viewerOf({ exchange, headers }: FastifyRequest): Promise<Viewer> {
  const { access, browserSessions } = exchange.server;
  const isLoggedIn = !access.isOpen && (await browserSessions.identityOf(headers)) !== undefined;
  const { identity, reported } = exchange.store;
  return {
    name: identity.name,
    isLoggedIn,
    ...(isLoggedIn && reported && { sees: scopeOf(identity, reported) }),
  };
}

/** `PATH/…` is all that lies below. */
function scopeOf(
  { namespace, rights }: Identity,
  reported: NonNullable<NamespaceRange>,
): NonNullable<Viewer['sees']> {
  const seesBelow = 'below' in reported;
  return {
    namespaces: seesBelow ? [...reported.besides, `${reported.below}/…`] : reported,
    ...(!seesBelow && { notBelow: namespace }),
    ...(seesBelow && !(rights.has('admin') && rights.has('blobs:read')) && { hidesContent: true }),
  };
}

function assetRoutes(app: FastifyInstance): void {
  onlyMethods(app, `${ASSETS_PATH}:name`, { config: PUBLIC }, 'GET', 'HEAD');
  app.get<{ Params: { name: string } }>(`${ASSETS_PATH}:name`, { config: PUBLIC }, ({ params }, reply) => {
    const asset = findAsset(params.name);
    if (!asset) throw new AssayError('ASSAY_NOT_FOUND', 'pages have no such file');
    reply
      .headers({ ...PAGE_HEADERS, 'cache-control': 'public, max-age=31536000, immutable' })
      .type(asset.type);
    return asset.body.toString('utf8');
  });
}

interface Login {
  readonly Querystring: { readonly next?: string };
}

async function loginRoutes(app: FastifyInstance): Promise<void> {
  const config = { ...PUBLIC, errors: jsonErrors('GET, HEAD, POST') };
  const failures = new FailedExchanges();
  onlyMethods(app, '/login', { config }, 'GET', 'HEAD', 'POST');
  onlyMethods(app, '/logout', { config: { ...config, errors: jsonErrors('POST') } }, 'POST');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', receiveForm);

  app.get<Login>('/login', { config }, async ({ query, exchange, headers }, reply) => {
    const next = ownPath(typeof query.next === 'string' ? query.next : undefined);
    const { access, browserSessions } = exchange.server;
    if (access.isOpen || (await browserSessions.identityOf(headers))) return reply.redirect(next, 303);
    return sendPage(reply, loginPage(next));
  });

  app.post('/login', { config }, ({ body, exchange }, reply) => {
    const form = body instanceof URLSearchParams ? body : new URLSearchParams();
    const next = ownPath(form.get('next') ?? undefined);
    const address = exchange.request.socket.remoteAddress ?? '';
    const session = exchange.server.browserSessions.open(
      (form.get('token') ?? '').trim(),
      isSecure(exchange.request),
    );
    if (!session) {
      failures.add(address);
      reply.code(401);
      return sendPage(reply, loginPage(next, 'This server does not know that token, or it has ended.'));
    }
    if (!isMet(READ_RUNS, session.identity.rights)) {
      reply.code(403);
      return sendPage(
        reply,
        loginPage(
          next,
          'That token may not read these pages: it lacks the rights "results:read" and "overview".',
        ),
      );
    }
    reply.headers({ ...PAGE_HEADERS, 'set-cookie': session.header });
    return reply.redirect(next, 303);
  });

  app.post('/logout', { config }, async ({ exchange, headers }, reply) => {
    reply.headers({
      ...PAGE_HEADERS,
      'set-cookie': await exchange.server.browserSessions.close(headers, isSecure(exchange.request)),
    });
    return reply.redirect('/login', 303);
  });
}

/** Behind a proxy that ends TLS, the page's own origin tells that the browser uses it. */
function isSecure({ socket, headers }: IncomingMessage): boolean {
  return 'encrypted' in socket || (headers.origin?.startsWith('https://') ?? false);
}

async function receiveForm({ exchange, headers }: FastifyRequest): Promise<URLSearchParams | undefined> {
  const bytes = await receiveWhole(exchange, ACCESS.maxExchangeBytes);
  const [type] = (headers['content-type'] ?? '').split(';');
  return type?.trim().toLowerCase() === FORM ? new URLSearchParams(bytes.toString('utf8')) : undefined;
}
