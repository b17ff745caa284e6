// The calls of the Remote Execution API that a cache client makes, and those of path sets. Every response is
// decoded to its last byte or rejected (core/message.ts): a malformed message is a fault.
import { type Digest, type Hash, parseDigest, toWire } from '../../../core/digest.ts';
import { GRPC_STATUS } from '../../../core/grpc-status.ts';
import { decodeStrict, type Shape } from '../../../core/message.ts';
import { RUNS_HEADER, reportForm } from '../../../core/metadata/run-report.ts';
import { NAMESPACE_HEADER } from '../../../core/namespace.ts';
import { PATH_SETS_SERVICE } from '../../../core/path-set.ts';
import { AddPathSetRequest, ListPathSetsRequest } from '../../../core/proto/generated/assay.ts';
import {
  QueryWriteStatusRequest,
  QueryWriteStatusResponse,
  ReadRequest,
  ReadResponse,
  WriteRequest,
  WriteResponse,
} from '../../../core/proto/generated/bytestream.ts';
import {
  BatchReadBlobsRequest,
  BatchReadBlobsResponse,
  BatchUpdateBlobsRequest,
  BatchUpdateBlobsResponse,
  Compressor_Value,
  DigestFunction_Value,
  FindMissingBlobsRequest,
  FindMissingBlobsResponse,
  GetActionResultRequest,
  GetCapabilitiesRequest,
  ServerCapabilities,
  UpdateActionResultRequest,
} from '../../../core/proto/generated/reapi-services.ts';
import { decodeResult } from '../../../core/result.ts';
import {
  decodeFound,
  decodeReceivedList,
  encodeFind,
  type FoundAnswer,
  headersFor,
  type ReceivedList,
  stepBytes,
} from '../path-set-messages.ts';
import { type Asking, OUTCOME_HEADER, RemoteFault, type ResultCandidate } from '../remote.ts';
import { type Channel, GrpcFault, HttpAnswer } from './channel.ts';

const CACHE = 'build.bazel.remote.execution.v2.ActionCache';
const CONTENT = 'build.bazel.remote.execution.v2.ContentAddressableStorage';
const CAPABILITIES = 'build.bazel.remote.execution.v2.Capabilities';
const STREAM = 'google.bytestream.ByteStream';

const digestFunction = DigestFunction_Value.SHA256;
const ONCE: Shape = {};
const SHAPES = {
  capabilities: { once: { 1: { once: { 2: ONCE } } } },
  digests: { many: { 2: ONCE } },
  updated: { many: { 1: { once: { 1: ONCE, 2: ONCE } } } },
  read: { many: { 1: { once: { 1: ONCE, 3: ONCE } } } },
  flat: {},
} satisfies Record<string, Shape>;

interface BlobOutcome {
  readonly digest: Digest;
  readonly code: number;
  readonly text: string;
  readonly data: Buffer;
}

export interface Capabilities {
  readonly maxBatchBytes: number;
  readonly takesUpdates: boolean;
}

export class Services {
  readonly #channel: Channel;
  readonly #instance: string;
  /** Where the server found each result, if it said so. */
  readonly namespaces = new Map<Hash, string>();
  /** The server announced that it takes reports of runs. */
  reportForm = 0;

  constructor(channel: Channel, instance: string) {
    this.#channel = channel;
    this.#instance = instance;
  }

  async capabilities(): Promise<Capabilities> {
    const message = GetCapabilitiesRequest.encode({ instanceName: this.#instance }).finish();
    const bytes = await this.#channel.unary(`${CAPABILITIES}/GetCapabilities`, message);
    const { cacheCapabilities } = decode(ServerCapabilities, SHAPES.capabilities, bytes);
    if (!cacheCapabilities?.digestFunctions.includes(DigestFunction_Value.SHA256)) {
      throw new RemoteFault('it does not support SHA-256');
    }
    return {
      maxBatchBytes: cacheCapabilities.maxBatchTotalSizeBytes,
      takesUpdates: cacheCapabilities.actionCacheUpdateCapabilities?.updateEnabled === true,
    };
  }

  #noteNamespace(key: Hash, headers: ReadonlyMap<string, string>): void {
    const namespace = headers.get(NAMESPACE_HEADER);
    if (namespace !== undefined) this.namespaces.set(key, namespace);
  }

  async getResult(key: Digest): Promise<Uint8Array | undefined> {
    const message = GetActionResultRequest.encode({
      instanceName: this.#instance,
      actionDigest: toWire(key),
      inlineStdout: false,
      inlineStderr: false,
      inlineOutputFiles: [],
      digestFunction,
    }).finish();
    try {
      return await this.#channel.unary(`${CACHE}/GetActionResult`, message, (headers) =>
        this.#noteNamespace(key.hash, headers),
      );
    } catch (error) {
      if (error instanceof GrpcFault && error.code === GRPC_STATUS.NOT_FOUND) return undefined;
      throw error;
    }
  }

  async putResult(key: Digest, result: Uint8Array): Promise<'stored' | 'diverged'> {
    const message = UpdateActionResultRequest.encode({
      instanceName: this.#instance,
      actionDigest: toWire(key),
      actionResult: decodeResult(result),
      digestFunction,
    }).finish();
    let outcome: string | undefined;
    await this.#channel.unary(`${CACHE}/UpdateActionResult`, message, (headers) => {
      outcome = headers.get(OUTCOME_HEADER);
    });
    return outcome === 'diverged' ? outcome : 'stored';
  }

  /** Undefined if the server has no such method. */
  async listPathSets(
    action: Hash,
    inlinedBytes: number,
    { purpose, step, onEarlier }: Asking,
  ): Promise<ReceivedList | undefined> {
    const about = { instanceName: this.#instance, key: action, inlinedBytes, step: stepBytes(step) };
    const message = ListPathSetsRequest.encode(about).finish();
    let answered: ReadonlyMap<string, string> = new Map();
    try {
      const note = (headers: ReadonlyMap<string, string>) => {
        answered = headers;
      };
      const method = `${PATH_SETS_SERVICE}/List`;
      const bytes = await this.#channel.unary(method, message, note, headersFor(purpose));
      this.reportForm ||= reportForm(answered.get(RUNS_HEADER));
      const list = decodeReceivedList(bytes);
      if (list?.predicted) this.#noteNamespace(list.predicted.key, answered);
      if (list && list.earlier.length > 0) onEarlier?.(list.earlier);
      return list;
    } catch (error) {
      if (error instanceof HttpAnswer || (error instanceof GrpcFault && !isPassing(error.code)))
        return undefined;
      throw error;
    }
  }

  async findResult(
    action: Hash,
    candidates: readonly ResultCandidate[],
    afterPrediction: boolean,
    { purpose, step, onEarlier }: Asking,
  ): Promise<FoundAnswer | undefined> {
    const about = { instanceName: this.#instance, key: action };
    const message = encodeFind(candidates, afterPrediction, step, about);
    let answered: ReadonlyMap<string, string> = new Map();
    const note = (headers: ReadonlyMap<string, string>) => {
      answered = headers;
    };
    const method = `${PATH_SETS_SERVICE}/Find`;
    const bytes = await this.#channel.unary(method, message, note, headersFor(purpose));
    const found = decodeFound(bytes, candidates, onEarlier);
    if (found) this.#noteNamespace(found.key, answered);
    return found;
  }

  async addPathSet(action: Hash, set: Hash): Promise<void> {
    const message = AddPathSetRequest.encode({ instanceName: this.#instance, key: action, set }).finish();
    await this.#channel.unary(`${PATH_SETS_SERVICE}/Add`, message);
  }

  async missing(digests: readonly Digest[]): Promise<Digest[]> {
    const blobDigests = digests.map(toWire);
    const message = FindMissingBlobsRequest.encode({
      instanceName: this.#instance,
      blobDigests,
      digestFunction,
    }).finish();
    const bytes = await this.#channel.unary(`${CONTENT}/FindMissingBlobs`, message);
    return decode(FindMissingBlobsResponse, SHAPES.digests, bytes).missingBlobDigests.map(parseDigest);
  }

  async updateBatch(blobs: readonly { digest: Digest; data: Buffer }[]): Promise<BlobOutcome[]> {
    const message = BatchUpdateBlobsRequest.encode({
      instanceName: this.#instance,
      requests: blobs.map(({ digest, data }) => ({
        digest: toWire(digest),
        data,
        compressor: Compressor_Value.IDENTITY,
      })),
      digestFunction,
    }).finish();
    const bytes = await this.#channel.unary(`${CONTENT}/BatchUpdateBlobs`, message);
    const { responses } = decode(BatchUpdateBlobsResponse, SHAPES.updated, bytes);
    return responses.map((response) => outcomeOf({ ...response, data: NO_DATA }));
  }

  async readBatch(digests: readonly Digest[]): Promise<BlobOutcome[]> {
    const message = BatchReadBlobsRequest.encode({
      instanceName: this.#instance,
      digests: digests.map(toWire),
      acceptableCompressors: [],
      digestFunction,
    }).finish();
    const bytes = await this.#channel.unary(`${CONTENT}/BatchReadBlobs`, message);
    return decode(BatchReadBlobsResponse, SHAPES.read, bytes).responses.map(outcomeOf);
  }

  async *read(digest: Digest): AsyncGenerator<Buffer> {
    const resourceName = this.#name(`blobs/${digest.hash}/${digest.size}`);
    const message = ReadRequest.encode({ resourceName, readOffset: 0, readLimit: 0 }).finish();
    for await (const bytes of this.#channel.read(`${STREAM}/Read`, message)) {
      yield decode(ReadResponse, SHAPES.flat, bytes).data;
    }
  }

  /** The resource name of an upload, which also serves to resume it. */
  uploadName(id: string, digest: Digest): string {
    return this.#name(`uploads/${id}/blobs/${digest.hash}/${digest.size}`);
  }

  /** The committed size that the server reports. */
  async write(requests: AsyncIterable<WriteRequest>): Promise<number> {
    const messages = encoded(requests);
    const bytes = await this.#channel.write(`${STREAM}/Write`, messages);
    return decode(WriteResponse, SHAPES.flat, bytes).committedSize;
  }

  async writeStatus(resourceName: string): Promise<QueryWriteStatusResponse> {
    const message = QueryWriteStatusRequest.encode({ resourceName }).finish();
    const bytes = await this.#channel.unary(`${STREAM}/QueryWriteStatus`, message);
    return decode(QueryWriteStatusResponse, SHAPES.flat, bytes);
  }

  #name(path: string): string {
    return this.#instance === '' ? path : `${this.#instance}/${path}`;
  }
}

/** The server may answer later; all other statuses say that it does not have the method. */
function isPassing(code: number): boolean {
  const passing: readonly number[] = [
    GRPC_STATUS.UNAVAILABLE,
    GRPC_STATUS.RESOURCE_EXHAUSTED,
    GRPC_STATUS.DEADLINE_EXCEEDED,
  ];
  return passing.includes(code);
}

const NO_DATA = Buffer.alloc(0);

async function* encoded(requests: AsyncIterable<WriteRequest>): AsyncGenerator<Uint8Array> {
  for await (const request of requests) yield WriteRequest.encode(request).finish();
}

function decode<T>(type: { decode(bytes: Uint8Array): T }, shape: Shape, bytes: Uint8Array): T {
  return decodeStrict(type, shape, bytes, 'its response is malformed');
}

function outcomeOf(response: {
  digest?: BatchReadBlobsResponse['responses'][number]['digest'];
  status?: BatchReadBlobsResponse['responses'][number]['status'];
  compressor?: Compressor_Value;
  data: Buffer;
}): BlobOutcome {
  if (!response.digest) throw new RemoteFault('its response names no digest');
  if (response.compressor) throw new RemoteFault('it compressed a blob without being asked');
  const { code = GRPC_STATUS.OK, message = '' } = response.status ?? {};
  return { digest: parseDigest(response.digest), code, text: message, data: response.data };
}
