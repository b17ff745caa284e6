// What a person needs after an incident, as a fastify plugin:
//
//   POST /admin/forget        counts or removes results, by {"keys","namespace","writer","since","bundle","remove","listed"}
//   GET  /admin/divergences   ?namespace=PATH&limit=N   keys with two results, and where those differ
//
// Guarantee: a token with the right `admin` reaches what lies at or below its own namespace, and nothing else.
import type { FastifyInstance } from 'fastify';
import { AssayError } from '../../../core/errors.ts';
import { isNamespaceAtOrBelow, type Namespace, parseNamespace } from '../../../core/namespace.ts';
import { all, any } from '../../../server/access/rights.ts';
import type { ScopedStore } from '../../../server/access/scoped-store.ts';
import { authorized, onlyMethods } from '../../../server/http/app.ts';
import { jsonErrors } from '../../../server/http/error-response.ts';
import type { Exchange } from '../../../server/http/exchange.ts';
import { SERVER } from '../../../server/limits.ts';
import { type ListedDivergence, listDivergences } from '../../../store/review/divergences.ts';
import { parseSelection, type SelectionTexts } from '../../../store/review/selection.ts';
import { Semaphore } from '../../../store/shared/semaphore.ts';
import type { Review } from '../../../store/store.ts';
import { ADMIN } from '../limits.ts';
import { answerForget } from './forget-answer.ts';

interface Forget {
  readonly Body: SelectionTexts & { readonly remove?: boolean; readonly listed?: number };
}

interface List {
  readonly Querystring: { readonly namespace?: string; readonly limit?: string };
}

export async function adminApi(app: FastifyInstance): Promise<void> {
  /** Each reads the whole index. */
  const reviews = new Semaphore({
    permits: ADMIN.maxReviews,
    maxWaiting: ADMIN.maxQueuedReviews,
    waitMs: SERVER.queueTimeoutMs,
  });
  const post = { route: 'admin', errors: jsonErrors('POST') } as const;
  const get = { route: 'admin', errors: jsonErrors('GET') } as const;
  onlyMethods(app, '/admin/forget', { config: post }, 'POST');
  onlyMethods(app, '/admin/divergences', { config: get }, 'GET');

  app.post<Forget>(
    '/admin/forget',
    { config: post, onRequest: authorized(all('admin')), schema: { body: FORGET } },
    async ({ body, exchange }, reply) => {
      const { remove = false, listed = 0, ...texts } = body;
      const { store, server } = exchange;
      if (remove && server.readOnly) throw new AssayError('ASSAY_READ_ONLY', 'this server is read-only');
      const selection = parseSelection(texts);
      const { namespace } = store.identity;
      if (selection.namespace !== undefined) refuseOutside(selection.namespace, store);
      const isAllowed = (stored: Namespace) => isNamespaceAtOrBelow(stored, namespace);
      const review = reviewOf(exchange);
      await reviews.acquire();
      reply.hijack();
      try {
        await answerForget(exchange, review, { selection, remove, listed, isAllowed });
      } finally {
        reviews.release();
      }
    },
  );

  app.get<List>(
    '/admin/divergences',
    {
      config: get,
      exposeHeadRoute: false,
      onRequest: authorized(any('admin', 'stats')),
      schema: { querystring: LIST },
    },
    ({ query: { namespace, limit }, exchange }) => {
      const below = parseNamespace(namespace ?? '');
      const most = Math.min(Number(limit ?? ADMIN.listedDivergences), SERVER.maxListedDivergences);
      return reviews.run(() => listOf(exchange, below, most));
    },
  );
}

async function listOf(
  exchange: Exchange,
  below: Namespace,
  most: number,
): Promise<{ divergences: ListedDivergence[]; more: boolean }> {
  const { store, server } = exchange;
  const isAdmin = store.identity.rights.has('admin');
  const { namespace } = store.identity;
  const maySee = (stored: Namespace) =>
    (isAdmin && isNamespaceAtOrBelow(stored, namespace)) || store.mayRead(stored);
  const options = {
    isShown: (stored: Namespace) => isNamespaceAtOrBelow(stored, below) && maySee(stored),
    withAddresses: isAdmin,
    maxBytes: SERVER.comparedBytes,
  };
  const divergences: ListedDivergence[] = [];
  for await (const found of listDivergences(reviewOf(exchange), server.wholeStore.blobs, options)) {
    if (divergences.length >= most) return { divergences, more: true };
    divergences.push(found);
  }
  return { divergences, more: false };
}

function refuseOutside(namespace: Namespace, { identity }: ScopedStore): void {
  if (isNamespaceAtOrBelow(namespace, identity.namespace)) return;
  throw new AssayError('ASSAY_FORBIDDEN', `this token is for ${identity.namespace} and what lies below it`);
}

function reviewOf({ server: { wholeStore } }: Exchange): Review {
  if (wholeStore.review) return wholeStore.review;
  throw new AssayError('ASSAY_NOT_FOUND', 'the store of this server has no review');
}

const TEXT = { type: 'string' };

/** A field that is not known is refused: without it, the selection would be larger than what was meant. */
const FORGET = {
  type: 'object',
  additionalProperties: false,
  properties: {
    keys: { type: 'array', items: TEXT, minItems: 1, maxItems: ADMIN.maxForgetKeys },
    namespace: TEXT,
    writer: TEXT,
    since: TEXT,
    bundle: TEXT,
    remove: { type: 'boolean' },
    listed: { type: 'integer', minimum: 0, maximum: ADMIN.maxForgetKeys },
  },
};

const LIST = {
  type: 'object',
  additionalProperties: false,
  properties: { namespace: TEXT, limit: { type: 'string', pattern: '^[1-9][0-9]{0,5}$' } },
};
