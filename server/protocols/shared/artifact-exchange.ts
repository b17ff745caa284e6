// An artifact as the body of an answer, and the body of a request as an artifact.
import type { Hash } from '../../../core/digest.ts';
import type { Blob, ResultAddress, ResultOutcome } from '../../../store/store.ts';
import type { Headers } from '../../http/error-response.ts';
import type { Exchange } from '../../http/exchange.ts';
import { SERVER } from '../../limits.ts';
import type { Protocol } from '../../pages/metrics.ts';
import { type Artifact, type Attributes, encodeArtifact, findArtifact } from './artifact.ts';
import { answerBlob } from './blob-answer.ts';
import { checkCreated, checkPreconditions, isCreateOnly } from './conditions.ts';
import { refusePartialPut } from './partial-put.ts';
import { receiveBlob } from './receive-blob.ts';

export interface SendOptions {
  readonly protocol: Protocol;
  readonly describe?: (attributes: Attributes) => Headers;
  /** The client takes a body that breaks off for a failure of the build: all of it is read before any of it is sent. */
  readonly verifyFirst?: boolean;
}

const REVALIDATE = ['cache-control', 'no-cache'];

export async function sendArtifact(
  exchange: Exchange,
  address: ResultAddress,
  how: SendOptions,
): Promise<void> {
  const { store, metrics } = exchange.server;
  const artifact = await findArtifact(store, address);
  const blob = artifact && (await store.blobs.get(artifact.digest.hash));
  metrics.lookedUp(how.protocol, blob !== undefined);
  if (!blob) return exchange.answerMiss();
  if (how.verifyFirst && exchange.method === 'GET') await verifyWhole(exchange, blob);
  const described = how.describe?.(artifact.attributes) ?? [];
  return answerBlob(exchange, artifact.digest.hash, blob, [...REVALIDATE, ...described]);
}

/** What is damaged shows here, and is then a miss. Beyond the bound the client would wait too long for a first byte. */
async function verifyWhole(exchange: Exchange, blob: Blob): Promise<void> {
  if (blob.bytes || blob.size > SERVER.verifyFirstBytes) return;
  for await (const _chunk of blob.chunks()) if (exchange.request.socket.destroyed) return;
}

export interface ReceiveOptions {
  readonly attributes?: Attributes;
  /** What the body must hash to, where the client says. */
  readonly hash?: Hash | undefined;
  /** The protocol's keys may get another content: the newest stays, not the first. */
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

/** Before the body is asked for. */
export async function checkArtifactPut(exchange: Exchange, address: ResultAddress): Promise<void> {
  await checkPreconditions(exchange, async () => {
    const kept = await findArtifact(exchange.server.store, address);
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
  const { store, lifecycle } = exchange.server;
  const how = { replace: replace && !isCreateOnly(exchange) };
  const outcome = await lifecycle.whileWriting(() =>
    store.results.put(address, encodeArtifact(artifact), how),
  );
  checkCreated(exchange, outcome);
  return outcome;
}
