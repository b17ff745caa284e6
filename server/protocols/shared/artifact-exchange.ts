// GET and PUT of an artifact: sends it as the body of a response, and stores the body of a request.
// Conditions (If-Match, If-None-Match) are checked before the body is read, and again when it is stored.
import type { Hash } from '../../../core/digest.ts';
import type { Blob, ResultAddress, ResultOutcome } from '../../../store/store.ts';
import { all } from '../../access/rights.ts';
import type { Headers } from '../../http/error-response.ts';
import type { Exchange } from '../../http/exchange.ts';
import { SERVER } from '../../limits.ts';
import type { Protocol } from '../../request/tools.ts';
import { type Artifact, type Attributes, encodeArtifact, findArtifact } from './artifact.ts';
import { answerBlob } from './blob-answer.ts';
import { checkCreated, checkPreconditions, isCreateOnly } from './conditions.ts';
import { refusePartialPut } from './partial-put.ts';
import { receiveBlob } from './receive-blob.ts';

interface SendOptions {
  readonly protocol: Protocol;
  readonly describe?: (attributes: Attributes) => Headers;
  /**
   * Read and verify the whole blob before sending: for clients that fail the build when a body breaks off.
   */
  readonly verifyFirst?: boolean;
  /** True if a miss of this address is counted already. */
  readonly isRepeatedMiss?: ((exchange: Exchange, address: ResultAddress) => boolean) | undefined;
  /** The range of a protocol with a header of its own. */
  readonly range?: string | undefined;
}

const REVALIDATE = ['cache-control', 'no-cache'];

/** The rights that a GET and a PUT of an artifact need. */
export const GET_ARTIFACT = all('results:read', 'blobs:read');
export const PUT_ARTIFACT = all('results:write', 'blobs:write');

export async function sendArtifact(
  exchange: Exchange,
  address: ResultAddress,
  how: SendOptions,
): Promise<void> {
  const { store } = exchange;
  const artifact = await findArtifact(store, address);
  const blob = artifact && (await store.blobs.get(artifact.digest.hash));
  if (blob || !how.isRepeatedMiss?.(exchange, address))
    exchange.lookedUp(how.protocol, how.protocol, blob !== undefined, address);
  if (!blob) return exchange.answerMiss();
  if (how.verifyFirst && exchange.method === 'GET') await verifyWhole(exchange, blob);
  const described = how.describe?.(artifact.attributes) ?? [];
  return answerBlob(exchange, artifact.digest.hash, blob, [...REVALIDATE, ...described], how.range);
}

/**
 * Reading verifies: a damaged blob throws, and the answer is a miss. Very large blobs are skipped: they take
 * too long.
 */
async function verifyWhole(exchange: Exchange, blob: Blob): Promise<void> {
  if (blob.bytes || blob.size > SERVER.verifyFirstBytes) return;
  for await (const _chunk of blob.chunks()) if (exchange.request.socket.destroyed) return;
}

interface ReceiveOptions {
  readonly attributes?: Attributes;
  /** The hash that the client announced for the body. */
  readonly hash?: Hash | undefined;
  /** New content replaces the old. By default the first content stays. */
  readonly replace?: boolean;
}

export async function receiveArtifact(
  exchange: Exchange,
  address: ResultAddress,
  { attributes = {}, hash, replace = false }: ReceiveOptions = {},
): Promise<ResultOutcome> {
  await checkArtifactPut(exchange, address);
  const digest = await receiveBlob(exchange, hash);
  return storeArtifact(exchange, address, { digest, attributes }, replace);
}

/** Checks a PUT before its body is read. */
export async function checkArtifactPut(exchange: Exchange, address: ResultAddress): Promise<void> {
  await checkPreconditions(exchange, async () => {
    const kept = await findArtifact(exchange.store, address);
    return kept && `"${kept.digest.hash}"`;
  });
  refusePartialPut(exchange);
}

export async function storeArtifact(
  exchange: Exchange,
  address: ResultAddress,
  artifact: Artifact,
  replace: boolean,
): Promise<ResultOutcome> {
  const {
    store,
    server: { lifecycle },
  } = exchange;
  const how = { replace: replace && !isCreateOnly(exchange) };
  const outcome = await lifecycle.whileWriting(() =>
    store.results.put(address, encodeArtifact(artifact), how),
  );
  checkCreated(exchange, outcome);
  return outcome;
}
