// The gRPC load process. It is separate, so that its work does not count as the server's. It takes jobs from
// its parent one at a time and exits on a wrong response. A job reads what earlier jobs have put.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { frame } from '../../core/grpc/frame.ts';
import { ReadRequest, WriteRequest } from '../../core/proto/generated/bytestream.ts';
import { ActionResult } from '../../core/proto/generated/reapi.ts';
import {
  BatchReadBlobsRequest,
  BatchUpdateBlobsRequest,
  BatchUpdateBlobsResponse,
  FindMissingBlobsRequest,
  FindMissingBlobsResponse,
  GetActionResultRequest,
  UpdateActionResultRequest,
} from '../../core/proto/generated/reapi-services.ts';
import { contentMaker, type Made } from '../server/content.ts';
import { answerOf, Client, statusOf } from './client.ts';
import { CALLS_AT_A_TIME, CONNECTIONS, type GrpcDone, type GrpcJob } from './job.ts';

const REAPI = '/build.bazel.remote.execution.v2';
const FIND_MISSING = `${REAPI}.ContentAddressableStorage/FindMissingBlobs`;
const BATCH_READ = `${REAPI}.ContentAddressableStorage/BatchReadBlobs`;
const BATCH_UPDATE = `${REAPI}.ContentAddressableStorage/BatchUpdateBlobs`;
const GET_RESULT = `${REAPI}.ActionCache/GetActionResult`;
const UPDATE_RESULT = `${REAPI}.ActionCache/UpdateActionResult`;
const READ = '/google.bytestream.ByteStream/Read';
const WRITE = '/google.bytestream.ByteStream/Write';
const SMALL = 4 * 1024;
const SHA256 = 0;
const NOT_FOUND = '5';

/** Blobs of earlier jobs, by size. */
const stored = new Map<number, string[]>();

/** Results of earlier jobs. */
const results: { readonly actionDigest: { hash: string; sizeBytes: number }; readonly bytes: number }[] = [];

process.on('message', (job: GrpcJob) => {
  run(job).then(
    (done) => process.send?.(done),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});

async function run(job: GrpcJob): Promise<GrpcDone> {
  const client = await Client.open(job.origin, CONNECTIONS, job.token, job.isBazel);
  const call = callOf(job, client);
  const waits: number[] = [];
  let next = 0;
  const worker = async () => {
    while (next++ < job.count) {
      const began = performance.now();
      await call();
      waits.push(performance.now() - began);
    }
  };
  await Promise.all(Array.from({ length: CALLS_AT_A_TIME }, worker));
  client.close();
  return { waits };
}

function callOf(job: GrpcJob, client: Client): () => Promise<void> {
  switch (job.verb) {
    case 'findMissing':
      if (job.present) return findPresent(client, job.digests, job.present);
      return job.areAbsent ? findAbsent(client, job.digests) : findMissing(client, job.digests);
    case 'missResult':
      return missResult(client);
    case 'putResult':
      return putResult(client, job.outputs);
    case 'getResult':
      return getResult(client, job.results);
    case 'read':
      return read(client, job.bytes);
    case 'write':
      return write(client, job.bytes, job.messageBytes);
    case 'batchRead':
      return batchRead(client, job.blobs, job.bytes);
    case 'batchUpdate':
      return batchUpdate(client, job.blobs, job.bytes);
  }
}

function findMissing(client: Client, count: number): () => Promise<void> {
  const hashes = storedOf(SMALL).slice(0, count);
  const blobDigests = hashes.map((hash) => ({ hash, sizeBytes: SMALL }));
  const request = FindMissingBlobsRequest.encode({
    instanceName: '',
    blobDigests,
    digestFunction: SHA256,
  }).finish();
  return async () => {
    const [answer] = await client.unary(FIND_MISSING, request);
    if (hashes.length !== count || answer?.length !== 0) throw new Error('something is missing');
  };
}

/** `count` of these blobs in each call, one part after the other. */
function findPresent(
  client: Client,
  count: number,
  blobs: readonly { readonly hash: string; readonly sizeBytes: number }[],
): () => Promise<void> {
  let from = 0;
  return async () => {
    const blobDigests = blobs.slice(from, from + count);
    from = from + 2 * count > blobs.length ? 0 : from + count;
    const request = FindMissingBlobsRequest.encode({
      instanceName: '',
      blobDigests,
      digestFunction: SHA256,
    }).finish();
    const [answer] = await client.unary(FIND_MISSING, request);
    if (blobDigests.length !== count || answer?.length !== 0) throw new Error('something is missing');
  };
}

function findAbsent(client: Client, count: number): () => Promise<void> {
  const blobDigests = Array.from({ length: count }, () => ({ hash: randomHash(), sizeBytes: SMALL }));
  const request = FindMissingBlobsRequest.encode({
    instanceName: '',
    blobDigests,
    digestFunction: SHA256,
  }).finish();
  return async () => {
    const [answer = Buffer.alloc(0)] = await client.unary(FIND_MISSING, request);
    if (FindMissingBlobsResponse.decode(answer).missingBlobDigests.length !== count)
      throw new Error('something is present');
  };
}

function missResult(client: Client): () => Promise<void> {
  const request = GetActionResultRequest.encode({
    ...GetActionResultRequest.decode(new Uint8Array(0)),
    actionDigest: { hash: randomHash(), sizeBytes: SMALL },
  }).finish();
  return async () => {
    const stream = client.open(GET_RESULT);
    stream.end(frame(request));
    const status = await statusOf(stream, () => {});
    if (status !== NOT_FOUND) throw new Error(`status ${status} instead of a miss`);
  };
}

function randomHash(): string {
  return randomBytes(32).toString('hex');
}

function putResult(client: Client, outputs: number): () => Promise<void> {
  const hashes = storedOf(SMALL);
  return async () => {
    const first = results.length;
    const actionDigest = { hash: hashes[first] ?? '', sizeBytes: SMALL };
    const outputFiles = Array.from({ length: outputs }, (_, index) => ({
      path: `bazel-out/some/folder/output-${index}`,
      digest: { hash: hashes[(first + index) % hashes.length] ?? '', sizeBytes: SMALL },
      isExecutable: false,
      contents: Buffer.alloc(0),
    }));
    const actionResult = { ...ActionResult.decode(new Uint8Array(0)), outputFiles };
    results.push({ actionDigest, bytes: ActionResult.encode(actionResult).finish().length });
    const update = UpdateActionResultRequest.encode({
      instanceName: '',
      actionDigest,
      actionResult,
      digestFunction: SHA256,
    }).finish();
    await client.unary(UPDATE_RESULT, update);
  };
}

function getResult(client: Client, count: number): () => Promise<void> {
  const asked = results.slice(0, count).map(({ actionDigest, bytes }) => ({
    request: GetActionResultRequest.encode({
      ...GetActionResultRequest.decode(new Uint8Array(0)),
      actionDigest,
    }).finish(),
    bytes,
  }));
  let next = 0;
  return async () => {
    const one = asked[next++ % count];
    const [answer] = await client.unary(GET_RESULT, one?.request ?? new Uint8Array(0));
    // bazel-remote adds who sent it.
    if (!answer || !one || answer.length < one.bytes) throw new Error('another result');
  };
}

function read(client: Client, bytes: number): () => Promise<void> {
  const hashes = storedOf(bytes);
  let next = 0;
  return async () => {
    const resourceName = `blobs/${hashes[next++ % hashes.length]}/${bytes}`;
    const stream = client.open(READ);
    stream.end(frame(ReadRequest.encode({ resourceName, readOffset: 0, readLimit: 0 }).finish()));
    let received = 0;
    await answerOf(stream, (piece) => {
      received += piece.length;
    });
    if (received < bytes || received > bytes * 1.001)
      throw new Error(`${received} bytes instead of ${bytes}`);
  };
}

function write(client: Client, bytes: number, messageBytes: number): () => Promise<void> {
  const make = contentMaker(bytes);
  return async () => {
    const made = make();
    const stream = client.open(WRITE);
    const done = answerOf(stream, () => {});
    for await (const message of writeRequests(made, bytes, messageBytes)) {
      if (!stream.write(frame(message))) await once(stream, 'drain');
    }
    stream.end();
    await done;
    storedOf(bytes).push(made.hash);
  };
}

async function* writeRequests(
  { hash, body }: Made,
  bytes: number,
  messageBytes: number,
): AsyncGenerator<Uint8Array> {
  let writeOffset = 0;
  for await (const piece of body instanceof Readable ? body : [body]) {
    for (let at = 0; at < piece.length; at += messageBytes) {
      const data = piece.subarray(at, at + messageBytes);
      const resourceName = writeOffset === 0 ? `uploads/${hash.slice(0, 36)}/blobs/${hash}/${bytes}` : '';
      const finishWrite = writeOffset + data.length === bytes;
      yield WriteRequest.encode({ resourceName, writeOffset, finishWrite, data }).finish();
      writeOffset += data.length;
    }
  }
}

function batchRead(client: Client, blobs: number, bytes: number): () => Promise<void> {
  const hashes = storedOf(bytes);
  let from = 0;
  return async () => {
    const digests = hashes.slice(from, from + blobs).map((hash) => ({ hash, sizeBytes: bytes }));
    from = from + 2 * blobs > hashes.length ? 0 : from + blobs;
    const request = BatchReadBlobsRequest.encode({
      instanceName: '',
      digests,
      acceptableCompressors: [],
      digestFunction: SHA256,
    }).finish();
    const [answer] = await client.unary(BATCH_READ, request);
    if (digests.length !== blobs || answer === undefined || answer.length < blobs * bytes)
      throw new Error('something is missing');
  };
}

function batchUpdate(client: Client, blobs: number, bytes: number): () => Promise<void> {
  const make = contentMaker(bytes);
  return async () => {
    const made = Array.from({ length: blobs }, make);
    const requests = made.map(({ hash, body }) => ({
      digest: { hash, sizeBytes: bytes },
      data: body instanceof Readable ? Buffer.alloc(0) : body,
      compressor: 0 as const,
    }));
    const request = BatchUpdateBlobsRequest.encode({
      instanceName: '',
      requests,
      digestFunction: SHA256,
    }).finish();
    const [answer = Buffer.alloc(0)] = await client.unary(BATCH_UPDATE, request);
    const { responses } = BatchUpdateBlobsResponse.decode(answer);
    if (responses.length !== blobs || responses.some(({ status }) => status?.code !== 0))
      throw new Error('refused');
    storedOf(bytes).push(...made.map(({ hash }) => hash));
  };
}

function storedOf(bytes: number): string[] {
  const known = stored.get(bytes) ?? [];
  stored.set(bytes, known);
  return known;
}
