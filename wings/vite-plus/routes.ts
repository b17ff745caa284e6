// The remote cache protocol of Vite+, as a fastify plugin below /vite-plus/:
//
//   POST NAMESPACE/fetch      the entry of a key, or else the newest one of the task
//   POST NAMESPACE/store      a new entry, with a blob or without
//   GET NAMESPACE/blob/HASH   a blob that an entry named
//
// Guarantee: 404 means that there is no entry, and nothing else has that status. `vp` takes no other one as a miss.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Digest, isHash, parseHash } from '../../core/digest.ts';
import { AssayError } from '../../core/errors.ts';
import { type Namespace, parseRequestedNamespace } from '../../core/namespace.ts';
import type { Requirement } from '../../server/access/rights.ts';
import { MemoryReservation } from '../../server/capacity/capacity.ts';
import { onlyMethods } from '../../server/http/app.ts';
import type { ErrorFormat } from '../../server/http/error-response.ts';
import type { Exchange } from '../../server/http/exchange.ts';
import { receiveStream, receiveWhole } from '../../server/http/upload.ts';
import { badKey } from '../../server/protocols/shared/adapter.ts';
import { GET_ARTIFACT, PUT_ARTIFACT } from '../../server/protocols/shared/artifact-exchange.ts';
import { answerBlob } from '../../server/protocols/shared/blob-answer.ts';
import { findTaskEntry, storeEntry } from './entries.ts';
import { VITE_PLUS } from './limits.ts';
import { encodeEntry, encodeStored, type Metadata, parseMetadata, parseTaskKeys } from './messages.ts';
import { readParts } from './parts.ts';

const BASE = '/vite-plus';
const CBOR = ['content-type', 'application/cbor', 'cache-control', 'no-store'];
const FOR_EVER = ['cache-control', 'max-age=31536000, immutable'];

/** The protocol wants plain text, which `vp` prints as it is. */
const PLAIN_ERRORS: ErrorFormat = {
  type: 'text/plain; charset=utf-8',
  methods: 'GET, HEAD, POST',
  body: ({ code, entry: { hint } }, message) => `${code}: ${message}. ${hint}`,
};

interface OfPath {
  readonly Params: { readonly '*': string };
}

interface Operation {
  readonly requirement: Requirement;
  /** The path with the namespace before it, and with what the operation is about after it. */
  readonly form: RegExp;
  answer(exchange: Exchange, namespace: Namespace, about: string): Promise<void>;
}

const READS: readonly Operation[] = [
  { requirement: GET_ARTIFACT, form: /^(?:(.*)\/)?blob\/([^/]*)$/, answer: answerNamedBlob },
];

const WRITES: readonly Operation[] = [
  { requirement: GET_ARTIFACT, form: /^(?:(.*)\/)?fetch$/, answer: answerFetch },
  { requirement: PUT_ARTIFACT, form: /^(?:(.*)\/)?store$/, answer: answerStore },
];

export async function vitePlusRoutes(app: FastifyInstance): Promise<void> {
  await app.register(async (scope) => {
    // A handler reads the body itself: it is no JSON, and may be large.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', async () => undefined);
    const url = `${BASE}/*`;
    const config = { route: 'vite-plus', errors: PLAIN_ERRORS } as const;
    onlyMethods(scope, url, { config }, 'GET', 'HEAD', 'POST');
    scope.route<OfPath>({ config, method: 'GET', url, handler: handlerOf(READS) });
    scope.route<OfPath>({ config, method: 'POST', url, handler: handlerOf(WRITES) });
  });
}

function handlerOf(operations: readonly Operation[]) {
  return async ({ exchange, params }: FastifyRequest<OfPath>, reply: FastifyReply): Promise<void> => {
    const path = params['*'];
    const operation = operations.find(({ form }) => form.test(path));
    exchange.require(operation?.requirement ?? PUT_ARTIFACT);
    reply.hijack();
    try {
      if (!operation) throw badKey(`${BASE}/NAMESPACE/fetch, /store and /blob/HASH`);
      const [, namespace = '', about = ''] = operation.form.exec(path) ?? [];
      await operation.answer(exchange, parseRequestedNamespace(namespace), about);
    } catch (error) {
      exchange.answerError(error);
    }
  };
}

async function answerFetch(exchange: Exchange, namespace: Namespace): Promise<void> {
  const question = parseTaskKeys(await receiveWhole(exchange, VITE_PLUS.maxQuestionBytes));
  const found = await findTaskEntry(exchange, namespace, question);
  if (!found) return exchange.answerMiss();
  exchange.answerContent(200, CBOR, encodeEntry(found, found.key));
}

async function answerStore(exchange: Exchange, namespace: Namespace): Promise<void> {
  const { limits, lifecycle, capacity } = exchange.server;
  const { maxMetadataBytes, maxFramingBytes } = VITE_PLUS;
  const body = receiveStream(exchange, limits.maxBlobBytes + maxMetadataBytes + maxFramingBytes);
  const memory = new MemoryReservation(capacity);
  let metadata: Metadata | undefined;
  let blob: Digest | undefined;
  try {
    const type = String(exchange.headers['content-type'] ?? '');
    await readParts(body, type, ['metadata', 'blob'], async (name, content) => {
      if (name === 'metadata') metadata = parseMetadata(await whole(content, maxMetadataBytes, memory));
      else
        blob = await lifecycle.whileWriting(() =>
          exchange.store.blobs.put({}, bounded(content, limits.maxBlobBytes)),
        );
    });
    if (!metadata) throw new AssayError('ASSAY_BAD_MESSAGE', 'the part metadata is missing');
    await storeEntry(exchange, namespace, metadata, blob);
  } finally {
    memory.release();
  }
  exchange.answer(200, CBOR, encodeStored(blob?.hash ?? null));
}

async function answerNamedBlob(exchange: Exchange, _namespace: Namespace, id: string): Promise<void> {
  if (!isHash(id)) throw badKey(`${BASE}/NAMESPACE/blob/HASH`);
  const hash = parseHash(id);
  const blob = await exchange.store.blobs.get(hash);
  exchange.server.metrics.lookedUp('cas', blob !== undefined);
  if (!blob) return exchange.answerMiss();
  return answerBlob(exchange, hash, blob, FOR_EVER);
}

async function whole(
  content: AsyncIterable<Buffer>,
  limit: number,
  memory: MemoryReservation,
): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of bounded(content, limit)) {
    memory.add(piece.length);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

async function* bounded(content: AsyncIterable<Buffer>, limit: number): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const piece of content) {
    bytes += piece.length;
    if (bytes > limit) throw new AssayError('ASSAY_TOO_LARGE', `the limit for this part is ${limit} bytes`);
    yield piece;
  }
}
