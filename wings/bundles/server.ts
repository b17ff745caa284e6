// A fastify plugin that answers `assay export --remote` with the records of a namespace (records-request.ts).
// Guarantees:
// - A token gets the results that a lookup in its own namespace would find, and nothing of any other namespace.
// - The server has all that it lists, and keeps it for a lease.
import type { FastifyInstance } from 'fastify';
import type { Hash } from '../../core/digest.ts';
import { AssayError } from '../../core/errors.ts';
import { actionNamedBy } from '../../core/metadata/receipt.ts';
import { DEFAULT_NAMESPACE, parseNamespace } from '../../core/namespace.ts';
import { decodeResult } from '../../core/result.ts';
import { VERSION } from '../../core/version.ts';
import { all } from '../../server/access/rights.ts';
import { authorized, onlyMethods } from '../../server/http/app.ts';
import { jsonErrors } from '../../server/http/error-response.ts';
import type { Exchange } from '../../server/http/exchange.ts';
import { SERVER } from '../../server/limits.ts';
import { parseSelection } from '../../store/review/selection.ts';
import { Semaphore } from '../../store/shared/semaphore.ts';
import { ActionMessages } from './export/messages.ts';
import { storeSource } from './export/source.ts';
import type { WantedResult } from './export/wanted.ts';
import { type BundleRecord, encodeRecord } from './format/records.ts';
import { BUNDLE } from './limits.ts';
import { RECORDS_PATH, type RecordsRequest } from './records-request.ts';

export async function bundlesApi(app: FastifyInstance): Promise<void> {
  /** Each reads the whole index. */
  const listings = new Semaphore({
    permits: BUNDLE.listingsAtOnce,
    maxWaiting: BUNDLE.listingsWaiting,
    waitMs: SERVER.queueTimeoutMs,
  });
  const config = { route: 'api', errors: jsonErrors('POST') } as const;
  onlyMethods(app, RECORDS_PATH, { config }, 'POST');
  app.post<{ Body: RecordsRequest }>(
    RECORDS_PATH,
    { config, onRequest: authorized(all('results:read', 'blobs:read')), schema: { body: LISTING } },
    async ({ body: { namespace = '', keys = [], labels = [], since }, exchange }, reply) => {
      const requested = parseNamespace(namespace);
      const { keys: parsed = [] } = keys.length > 0 ? parseSelection({ keys }) : {};
      const { since: from } = since === undefined ? {} : parseSelection({ since });
      await listings.acquire();
      reply.hijack();
      try {
        await list(exchange, requested, { keys: parsed, labels, since: from });
      } finally {
        listings.release();
      }
    },
  );
}

async function list(
  exchange: Exchange,
  requested: ReturnType<typeof parseNamespace>,
  wanted: WantedResult,
): Promise<void> {
  const { store, server, response } = exchange;
  const { review } = server.wholeStore;
  if (!review) throw new AssayError('ASSAY_NOT_FOUND', 'the store of this server has no review');
  const within = { identity: store.identity.namespace, requested };
  const prefix = requested === '' ? '' : `${requested}/`;
  /** Asked as a lookup asks, but in the own namespace alone. */
  const get = ({ namespace, key }: Parameters<typeof store.results.getOwn>[0]) =>
    store.results.getOwn({
      namespace: namespace === DEFAULT_NAMESPACE ? requested : parseNamespace(`${prefix}${namespace}`),
      key,
    });
  const records = storeSource({ review, results: { get }, wanted, within });
  let isGone = false;
  response.once('close', () => {
    isGone = true;
  });
  const send = async (record: BundleRecord) => {
    if (isGone) throw new AssayError('ASSAY_NO_ANSWER', 'the client has gone');
    if (!response.write(encodeRecord(record)))
      await new Promise<void>((resume) => {
        response.once('drain', resume);
        response.once('close', resume);
      });
  };
  exchange.begin(200, ['content-type', 'application/x-ndjson']);
  try {
    const actions = new Set<Hash>();
    const labelled = new Set<string>();
    for await (const seen of records.results()) {
      const stored = await records.get(seen);
      if (!stored) continue;
      if (seen.in === '') actions.add(actionNamedBy(decodeResult(stored.bytes)) ?? seen.key);
      else labelled.add(`${seen.in} ${seen.key}`);
      await send({ result: { in: seen.in, key: seen.key, message: stored.bytes } });
    }
    const messages = new ActionMessages(store.blobs);
    for (const action of actions) for await (const blob of messages.of(action)) await send({ blob });
    for await (const { action, set } of records.sets()) {
      if (!actions.has(action) || (await store.blobs.missing([set])).length > 0) continue;
      await send({ blob: set });
      await send({ set: { action, set: set.hash } });
    }
    for await (const label of records.labels())
      if (labelled.has(`${label.in} ${label.key}`)) await send({ label });
    await send({ made: { at: new Date().toISOString(), assay: VERSION, where: '' } });
  } catch (error) {
    server.log.warn({ err: error }, 'a list of records was not finished');
  } finally {
    exchange.end();
  }
}

const TEXTS = { type: 'array', items: { type: 'string' }, maxItems: BUNDLE.maxAskedKeys };

const LISTING = {
  type: 'object',
  additionalProperties: false,
  properties: { namespace: { type: 'string' }, keys: TEXTS, labels: TEXTS, since: { type: 'string' } },
};
