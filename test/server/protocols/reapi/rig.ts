// A server in this process with a REAPI client: one function per method that builds and parses its messages.
import { onTestFinished } from 'vitest';
import { type Digest, digestOf, toWire } from '../../../../core/digest.ts';
import { encodeField, replaceFields } from '../../../../core/edit-message.ts';
import {
  QueryWriteStatusRequest,
  QueryWriteStatusResponse,
  ReadRequest,
  ReadResponse,
  WriteRequest,
  WriteResponse,
} from '../../../../core/proto/generated/bytestream.ts';
import {
  BatchReadBlobsRequest,
  BatchReadBlobsResponse,
  BatchUpdateBlobsRequest,
  BatchUpdateBlobsResponse,
  Compressor_Value,
  FindMissingBlobsRequest,
  FindMissingBlobsResponse,
  GetActionResultRequest,
  GetCapabilitiesRequest,
  GetTreeRequest,
  GetTreeResponse,
  ServerCapabilities,
} from '../../../../core/proto/generated/reapi-services.ts';
import { type CallHeaders, type GrpcAnswer, GrpcClient } from '../../../rig/grpc.ts';
import { type TestServer, type TestServerOptions, testServer } from '../../rig.ts';

const REAPI = '/build.bazel.remote.execution.v2';

export const PATHS = {
  capabilities: `${REAPI}.Capabilities/GetCapabilities`,
  getResult: `${REAPI}.ActionCache/GetActionResult`,
  updateResult: `${REAPI}.ActionCache/UpdateActionResult`,
  findMissing: `${REAPI}.ContentAddressableStorage/FindMissingBlobs`,
  batchUpdate: `${REAPI}.ContentAddressableStorage/BatchUpdateBlobs`,
  batchRead: `${REAPI}.ContentAddressableStorage/BatchReadBlobs`,
  getTree: `${REAPI}.ContentAddressableStorage/GetTree`,
  split: `${REAPI}.ContentAddressableStorage/SplitBlob`,
  splice: `${REAPI}.ContentAddressableStorage/SpliceBlob`,
  read: '/google.bytestream.ByteStream/Read',
  write: '/google.bytestream.ByteStream/Write',
  writeStatus: '/google.bytestream.ByteStream/QueryWriteStatus',
} as const;

interface MessageType<T> {
  decode(bytes: Uint8Array): T;
}

/** The only message of a response, which must be OK. */
export function only<T>(type: MessageType<T>, answer: GrpcAnswer): T {
  const [message] = answer.messages;
  if (answer.status !== 'OK' || !message) throw new Error(`${answer.status}: ${answer.message}`);
  return type.decode(message);
}

export async function reapiServer(
  options: TestServerOptions = {},
  headers: CallHeaders = {},
): Promise<{ server: TestServer; client: ReapiClient }> {
  const server = await testServer(options);
  return { server, client: await reapiClient(server.url, headers) };
}

export async function reapiClient(url: string, headers: CallHeaders = {}): Promise<ReapiClient> {
  const grpc = await GrpcClient.to(url, headers);
  onTestFinished(() => grpc.close());
  return new ReapiClient(grpc);
}

export class ReapiClient {
  readonly grpc: GrpcClient;
  readonly instanceName: string;

  constructor(grpc: GrpcClient, instanceName = '') {
    this.grpc = grpc;
    this.instanceName = instanceName;
  }

  in(instanceName: string): ReapiClient {
    return new ReapiClient(this.grpc, instanceName);
  }

  async capabilities(): Promise<ServerCapabilities> {
    const request = GetCapabilitiesRequest.encode({ instanceName: this.instanceName }).finish();
    return only(ServerCapabilities, await this.grpc.call(PATHS.capabilities, request));
  }

  getResult(key: Digest, more: Partial<GetActionResultRequest> = {}): Promise<GrpcAnswer> {
    const request = {
      ...GetActionResultRequest.decode(new Uint8Array(0)),
      instanceName: this.instanceName,
      actionDigest: toWire(key),
      ...more,
    };
    return this.grpc.call(PATHS.getResult, GetActionResultRequest.encode(request).finish());
  }

  /** Sends these bytes as the result, valid or not. */
  updateResult(key: Digest, result: Uint8Array, headers: CallHeaders = {}): Promise<GrpcAnswer> {
    const request = Buffer.concat([
      encodeField(1, Buffer.from(this.instanceName)),
      encodeField(2, digestBytes(key)),
      encodeField(3, result),
    ]);
    return this.grpc.call(PATHS.updateResult, request, headers);
  }

  async missing(...digests: readonly Digest[]): Promise<Digest[]> {
    const { missingBlobDigests } = only(FindMissingBlobsResponse, await this.findMissing(digests));
    return missingBlobDigests.flatMap(({ hash }) => digests.find((digest) => digest.hash === hash) ?? []);
  }

  findMissing(digests: readonly Digest[]): Promise<GrpcAnswer> {
    const { instanceName } = this;
    const request = { instanceName, blobDigests: digests.map(toWire), digestFunction: 0 as const };
    return this.grpc.call(PATHS.findMissing, FindMissingBlobsRequest.encode(request).finish());
  }

  batchUpdate(...blobs: readonly { digest: Digest; data: Buffer; zstd?: boolean }[]): Promise<GrpcAnswer> {
    const requests = blobs.map(({ digest, data, zstd = false }) => ({
      digest: toWire(digest),
      data,
      compressor: zstd ? Compressor_Value.ZSTD : Compressor_Value.IDENTITY,
    }));
    const request = { instanceName: this.instanceName, requests, digestFunction: 0 as const };
    return this.grpc.call(PATHS.batchUpdate, BatchUpdateBlobsRequest.encode(request).finish());
  }

  async put(...contents: readonly Buffer[]): Promise<Digest[]> {
    const blobs = contents.map((data) => ({ digest: digestOf(data), data }));
    const { responses } = only(BatchUpdateBlobsResponse, await this.batchUpdate(...blobs));
    const refused = responses.find(({ status }) => status?.code !== 0);
    if (refused) throw new Error(refused.status?.message);
    return blobs.map(({ digest }) => digest);
  }

  batchRead(digests: readonly Digest[], zstd = false): Promise<GrpcAnswer> {
    const request = {
      instanceName: this.instanceName,
      digests: digests.map(toWire),
      acceptableCompressors: zstd ? [Compressor_Value.ZSTD] : [],
      digestFunction: 0 as const,
    };
    return this.grpc.call(PATHS.batchRead, BatchReadBlobsRequest.encode(request).finish());
  }

  async readMany(digests: readonly Digest[], zstd = false): Promise<BatchReadBlobsResponse['responses']> {
    return only(BatchReadBlobsResponse, await this.batchRead(digests, zstd)).responses;
  }

  read(resourceName: string, readOffset = 0, readLimit = 0): Promise<GrpcAnswer> {
    return this.grpc.call(PATHS.read, ReadRequest.encode({ resourceName, readOffset, readLimit }).finish());
  }

  async readBytes(resourceName: string, offset = 0, limit = 0): Promise<Buffer> {
    const answer = await this.read(resourceName, offset, limit);
    if (answer.status !== 'OK') throw new Error(`${answer.status}: ${answer.message}`);
    return Buffer.concat(answer.messages.map((message) => ReadResponse.decode(message).data));
  }

  /** Messages of `pieceBytes`, with the name in the first and finish_write in the last. */
  async write(resourceName: string, bytes: Buffer, options: WriteOptions = {}): Promise<GrpcAnswer> {
    const { pieceBytes = 16 * 1024, offset = 0, isFinished = true } = options;
    const call = this.grpc.open(PATHS.write);
    for (let at = 0; at === 0 || at < bytes.length; at += pieceBytes) {
      if (call.stream.destroyed) break;
      const isLast = at + pieceBytes >= bytes.length;
      await call.send(
        writeRequest({
          resourceName: at === 0 ? resourceName : '',
          writeOffset: offset + at,
          finishWrite: isLast && isFinished,
          data: bytes.subarray(at, at + pieceBytes),
        }),
      );
    }
    call.end();
    return call.answer();
  }

  async writeStatus(resourceName: string): Promise<QueryWriteStatusResponse> {
    const answer = await this.grpc.call(
      PATHS.writeStatus,
      QueryWriteStatusRequest.encode({ resourceName }).finish(),
    );
    return only(QueryWriteStatusResponse, answer);
  }

  async tree(root: Digest, pageSize = 0, pageToken = ''): Promise<GetTreeResponse[]> {
    const answer = await this.treeAnswer(root, pageSize, pageToken);
    if (answer.status !== 'OK') throw new Error(`${answer.status}: ${answer.message}`);
    return answer.messages.map((message) => GetTreeResponse.decode(message));
  }

  treeAnswer(root: Digest, pageSize = 0, pageToken = ''): Promise<GrpcAnswer> {
    const { instanceName } = this;
    const request = {
      instanceName,
      rootDigest: toWire(root),
      pageSize,
      pageToken,
      digestFunction: 0 as const,
    };
    return this.grpc.call(PATHS.getTree, GetTreeRequest.encode(request).finish());
  }
}

export interface WriteOptions {
  readonly pieceBytes?: number;
  readonly offset?: number;
  readonly isFinished?: boolean;
}

export function writeRequest(request: Omit<WriteRequest, '_unknownFields'>): Uint8Array {
  return WriteRequest.encode(request).finish();
}

export function committed(answer: GrpcAnswer): number {
  return only(WriteResponse, answer).committedSize;
}

export function uploadName({ hash, size }: Digest, id = 'an-upload', instance = ''): string {
  return `${instance === '' ? '' : `${instance}/`}uploads/${id}/blobs/${hash}/${size}`;
}

export function readName({ hash, size }: Digest): string {
  return `blobs/${hash}/${size}`;
}

export function digestBytes({ hash, size }: Digest): Uint8Array {
  const request = FindMissingBlobsRequest.encode({
    instanceName: '',
    blobDigests: [{ hash, sizeBytes: size }],
    digestFunction: 0,
  }).finish();
  let bytes: Uint8Array = new Uint8Array(0);
  replaceFields(request, 2, (content) => {
    bytes = content;
    return undefined;
  });
  return bytes;
}
