// /ac: GET and PUT of an ActionResult by the action's hash, within a namespace, as protobuf or as JSON
// (moon). The store accepts and serves a result only if it has every blob that the result references.
import { hash } from 'node:crypto';
import { appendBlobs, INLINED_BLOBS_HEADER } from '../../../core/inlined-blobs.ts';
import type { ResultAddress, StoredResult } from '../../../store/store.ts';
import type { Headers } from '../../http/error-response.ts';
import type { Exchange } from '../../http/exchange.ts';
import { receiveWhole } from '../../http/upload.ts';
import { resultFromJson, resultToJson } from '../moon/result-json.ts';
import { NOSNIFF } from '../shared/blob-answer.ts';
import {
  checkCreated,
  checkPreconditions,
  evaluateConditions,
  preconditionFailed,
} from '../shared/conditions.ts';
import { selectBlobs } from '../shared/inlined-blobs.ts';

const DESCRIPTION = ['cache-control', 'no-cache', 'vary', 'accept, assay-company', ...NOSNIFF];
const PROTOBUF = ['content-type', 'application/x-protobuf', ...DESCRIPTION];
const JSON_TEXT = ['content-type', 'application/json', ...DESCRIPTION];

export async function getResult(exchange: Exchange, address: ResultAddress): Promise<void> {
  const result = await exchange.store.results.get(address);
  exchange.lookedUp('ac', 'http', result !== undefined, address);
  if (!result) return exchange.answerMiss();
  const { bytes } = result;
  const { accept } = exchange.request.headers;
  if (isJson(accept))
    return answerResult(exchange, JSON_TEXT, tagOf(result, '-json'), () => resultToJson(bytes));
  const accepted =
    exchange.method === 'HEAD' ? 0 : Number(exchange.request.headers[INLINED_BLOBS_HEADER] ?? 0);
  const blobs = await selectBlobs(exchange, bytes, accepted);
  /** No entity tag: the inlined blobs are not the same in each answer. */
  if (blobs.length > 0) exchange.answerContent(200, PROTOBUF, appendBlobs({ result: bytes, blobs }));
  else answerResult(exchange, PROTOBUF, tagOf(result), () => appendBlobs({ result: bytes, blobs }));
}

function answerResult(exchange: Exchange, description: Headers, entityTag: string, body: () => Buffer): void {
  const headers = [...description, 'etag', entityTag];
  const outcome = evaluateConditions(exchange.request.headers, entityTag);
  if (outcome === 'failed') throw preconditionFailed();
  if (outcome === 'known') exchange.answerUnchanged(headers);
  else exchange.answerContent(200, headers, body());
}

/** Protobuf and JSON have different entity tags. To hash the result again would be 3 % of a hit. */
function tagOf({ checksum, bytes }: StoredResult, form = ''): string {
  return `"${checksum ?? hash('sha256', bytes, 'hex')}${form}"`;
}

/**
 * A PUT of a different result succeeds, to not fail the build. The header `assay-outcome` names the outcome.
 */
export async function putResult(exchange: Exchange, address: ResultAddress): Promise<void> {
  const { store } = exchange;
  const { limits, lifecycle } = exchange.server;
  await checkPreconditions(exchange, async () => {
    const kept = await store.results.get(address);
    return kept && tagOf(kept);
  });
  const sent = await receiveWhole(exchange, limits.maxResultBytes);
  const bytes = isJson(exchange.request.headers['content-type']) ? resultFromJson(sent) : sent;
  const outcome = await lifecycle.whileWriting(() => store.results.put(address, bytes));
  checkCreated(exchange, outcome);
  exchange.answerStored(['assay-outcome', outcome]);
}

function isJson(mediaType: string | undefined): boolean {
  return mediaType?.startsWith('application/json') ?? false;
}
