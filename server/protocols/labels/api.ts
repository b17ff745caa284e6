// Labels over HTTP, as a fastify plugin, for `assay save`, `assay restore`, the state of steps and
// checkpoints. At /labels/v1/NAMESPACE:
//
//   GET ?exact=LABEL&prefix=PREFIX&prefix=…   {"label","key"} of that label, else of the newest with a prefix; or 404
//   GET ?all=PREFIX                           {"labels":[{"label","key"},…]}, newest first, at most 1,000
//   PUT ?label=LABEL&key=HASH                 200, or 409 if the label names other content that is still stored
//   PUT …&action=KEY&fence=EPOCH.NUMBER       the same, and 409 unless the newest lease of the action has this fence
import type { FastifyInstance } from 'fastify';
import { parseHash } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { LABELS_PATH } from '../../../core/labels.ts';
import { parseRequestedNamespace } from '../../../core/namespace.ts';
import type { Labelled } from '../../../store/store.ts';
import { all } from '../../access/rights.ts';
import { authorized, onlyMethods } from '../../http/app.ts';
import { jsonErrors } from '../../http/error-response.ts';
import { MISS } from '../../http/exchange.ts';
import type { JsonApi } from '../shared/json-api.ts';
import { type FencedPut, guardOf } from './guard.ts';

export const labelsApi: JsonApi = {
  path: /^\/labels\/v1\/(?<namespace>.*)$/,
  urlFor: ({ namespace = '' }) => `${LABELS_PATH}${encodeURIComponent(namespace)}`,
  async plugin(app) {
    app.register(endpoints, { prefix: LABELS_PATH });
    app.register(endpoints, { prefix: `${LABELS_PATH}:namespace` });
  },
};

interface Find {
  readonly Params: { readonly namespace?: string };
  readonly Querystring: {
    readonly exact?: string;
    readonly prefix?: string | readonly string[];
    readonly all?: string;
  };
}

interface Put {
  readonly Params: { readonly namespace?: string };
  readonly Querystring: FencedPut & { readonly label?: string; readonly key?: string };
}

async function endpoints(app: FastifyInstance): Promise<void> {
  const config = { route: 'labels', errors: jsonErrors('GET, PUT') } as const;
  onlyMethods(app, '', { config }, 'GET', 'PUT');
  /** A PUT has its arguments in the query. */
  app.addContentTypeParser('*', async () => undefined);

  const onRequest = authorized(all('results:read'));
  const find = { config, exposeHeadRoute: false, onRequest, schema: { querystring: FIND } };
  app.get<Find>('', find, async ({ params, query, exchange }) => {
    const {
      store,
      server: { metrics },
    } = exchange;
    const namespace = parseRequestedNamespace(params.namespace ?? '');
    if (query.all !== undefined) return { labels: (await store.labels.all(namespace, query.all)).map(shown) };
    const found = await store.labels.newest(namespace, [query.prefix ?? []].flat(), query.exact);
    metrics.lookedUp('labels', found !== undefined);
    if (!found) throw MISS;
    return shown(found);
  });

  const put = { config, onRequest: authorized(all('labels:write')), schema: { querystring: PUT } };
  app.put<Put>('', put, async ({ params, query, exchange }, reply) => {
    const {
      store,
      server: { lifecycle },
    } = exchange;
    const namespace = parseRequestedNamespace(params.namespace ?? '');
    const { label = '', key = '' } = query;
    const hash = parseHash(key);
    const address = { namespace, label };
    const guard = guardOf(address, query);
    const outcome = await lifecycle.whileWriting(() => store.labels.put(address, hash, guard));
    if (outcome === 'taken') throw labelTaken(label);
    return reply.send();
  });
}

/** A record of the store may have more. */
function shown({ label, key }: Labelled): Labelled {
  return { label, key };
}

function labelTaken(label: string): AssayError {
  const name = JSON.stringify(label.slice(0, 100));
  return new AssayError('ASSAY_LABEL_TAKEN', `${name} already names other content`);
}

const TEXT = { type: 'string' };

const FIND = {
  type: 'object',
  properties: { exact: TEXT, prefix: { anyOf: [TEXT, { type: 'array', items: TEXT }] }, all: TEXT },
};

const PUT = { type: 'object', properties: { label: TEXT, key: TEXT, action: TEXT, fence: TEXT } };
