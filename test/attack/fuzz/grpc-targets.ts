// Valid calls of every gRPC method of the server. Content comes from a small set, so that one call finds what
// an earlier one stored.
import { zstdCompressSync } from 'node:zlib';
import { type Digest, digestOf, toWire } from '../../../core/digest.ts';
import {
  AddPathSetRequest,
  FindResultRequest,
  ListPathSetsRequest,
} from '../../../core/proto/generated/assay.ts';
import {
  FetchBlobRequest,
  FetchDirectoryRequest,
  PushBlobRequest,
  PushDirectoryRequest,
} from '../../../core/proto/generated/asset.ts';
import {
  QueryWriteStatusRequest,
  ReadRequest,
  WriteRequest,
} from '../../../core/proto/generated/bytestream.ts';
import { ActionResult } from '../../../core/proto/generated/reapi.ts';
import {
  BatchReadBlobsRequest,
  BatchUpdateBlobsRequest,
  FindMissingBlobsRequest,
  GetActionResultRequest,
  GetCapabilitiesRequest,
  GetTreeRequest,
  SpliceBlobRequest,
  SplitBlobRequest,
  UpdateActionResultRequest,
} from '../../../core/proto/generated/reapi-services.ts';
import type { Random } from '../../rig/random.ts';
import { PATHS } from '../../server/protocols/reapi/rig.ts';
import { directoryOf, resultNaming } from '../../store/content.ts';

export interface GrpcRequest {
  readonly path: string;
  readonly messages: readonly Uint8Array[];
}

export interface GrpcTarget {
  readonly name: string;
  next(): GrpcRequest;
}

const ASSET = '/build.bazel.remote.asset.v1';
const PATH_SETS = '/assay.v1.PathSets';
const NOTHING = new Uint8Array(0);
const SHA256 = 1;

interface Content {
  readonly bytes: Buffer;
  readonly digest: Digest;
  readonly small: Buffer;
}

function contentOf(bytes: Buffer): Content {
  return { bytes, digest: digestOf(bytes), small: zstdCompressSync(bytes) };
}

export function grpcTargets(random: Random): GrpcTarget[] {
  const folder = directoryOf([digestOf(Buffer.from('a file'))]);
  const contentOfFolder = contentOf(folder);
  /** Its only file is one of the contents, so it can be complete. */
  const wholeFolder = contentOf(directoryOf([digestOf(Buffer.alloc(10))]));
  const sizes = [0, 10, 100, 1000, 70_000];
  const contents = sizes.flatMap((size) => [0, 1].map((byte) => contentOf(Buffer.alloc(size, byte))));
  const content = () => random.pick([...contents, contentOfFolder, wholeFolder]);
  const digest = () => toWire(content().digest);
  const about = () => ({
    instanceName: random.pick(['', 'some/project']),
    digestFunction: random.pick([0, SHA256] as const),
  });
  const one = (path: string, message: Uint8Array): GrpcRequest => ({ path, messages: [message] });
  const target = (name: string, next: () => GrpcRequest): GrpcTarget => ({ name, next });
  const blobName = () => {
    const { hash, sizeBytes } = digest();
    return `${random.pick(['', 'some/project/'])}${random.pick(['blobs', 'compressed-blobs/zstd'])}/${hash}/${sizeBytes}`;
  };
  return [
    target('capabilities', () => one(PATHS.capabilities, GetCapabilitiesRequest.encode(about()).finish())),
    target('findMissing', () => {
      const blobDigests = Array.from({ length: random.below(20) }, digest);
      return one(PATHS.findMissing, FindMissingBlobsRequest.encode({ ...about(), blobDigests }).finish());
    }),
    target('batchUpdate', () => {
      const requests = Array.from({ length: random.below(4) }, () => {
        const one = content();
        const isSmall = random.below(2) === 0;
        const compressor = isSmall ? (1 as const) : (0 as const);
        return { digest: toWire(one.digest), data: isSmall ? one.small : one.bytes, compressor };
      });
      return one(PATHS.batchUpdate, BatchUpdateBlobsRequest.encode({ ...about(), requests }).finish());
    }),
    target('batchRead', () => {
      const digests = Array.from({ length: random.below(6) }, digest);
      const acceptableCompressors = random.pick([[], [1 as const]]);
      return one(
        PATHS.batchRead,
        BatchReadBlobsRequest.encode({ ...about(), digests, acceptableCompressors }).finish(),
      );
    }),
    target('getResult', () => {
      const inlines = { inlineStdout: true, inlineStderr: true, inlineOutputFiles: ['out/0'] };
      const request = { ...about(), actionDigest: digest(), ...inlines };
      return one(PATHS.getResult, GetActionResultRequest.encode(request).finish());
    }),
    target('updateResult', () => {
      const actionResult = ActionResult.decode(resultNaming(content().digest));
      const request = { ...about(), actionDigest: digest(), actionResult };
      return one(PATHS.updateResult, UpdateActionResultRequest.encode(request).finish());
    }),
    target('getTree', () => {
      const request = {
        ...about(),
        rootDigest: toWire(contentOfFolder.digest),
        pageSize: random.below(3),
        pageToken: '',
      };
      return one(PATHS.getTree, GetTreeRequest.encode(request).finish());
    }),
    target('split', () => {
      const request = { ...about(), blobDigest: digest(), chunkingFunction: 1 as const };
      return one(PATHS.split, SplitBlobRequest.encode(request).finish());
    }),
    target('splice', () => {
      const chunk = digest();
      const request = { ...about(), blobDigest: chunk, chunkDigests: [chunk], chunkingFunction: 1 as const };
      return one(PATHS.splice, SpliceBlobRequest.encode(request).finish());
    }),
    target('read', () => {
      const request = {
        resourceName: blobName(),
        readOffset: random.pick([0, 5, 100_000]),
        readLimit: random.below(3),
      };
      return one(PATHS.read, ReadRequest.encode(request).finish());
    }),
    target('write', () => {
      const { bytes, digest } = content();
      const { hash, size } = digest;
      const middle = random.below(bytes.length + 1);
      const resourceName = `uploads/${random.below(4)}/blobs/${hash}/${size}`;
      const first = { resourceName, writeOffset: 0, finishWrite: false, data: bytes.subarray(0, middle) };
      const second = {
        resourceName: '',
        writeOffset: middle,
        finishWrite: true,
        data: bytes.subarray(middle),
      };
      return {
        path: PATHS.write,
        messages: [first, second].map((part) => WriteRequest.encode(part).finish()),
      };
    }),
    target('writeStatus', () => {
      const resourceName = `uploads/${random.below(4)}/${blobName().replace('some/project/', '')}`;
      return one(PATHS.writeStatus, QueryWriteStatusRequest.encode({ resourceName }).finish());
    }),
    target('fetchBlob', () => {
      const request = { ...FetchBlobRequest.decode(NOTHING), uris: [`urn:${random.below(4)}`] };
      return one(`${ASSET}.Fetch/FetchBlob`, FetchBlobRequest.encode(request).finish());
    }),
    target('pushBlob', () => {
      const request = {
        ...PushBlobRequest.decode(NOTHING),
        uris: [`urn:${random.below(4)}`],
        blobDigest: digest(),
      };
      return one(`${ASSET}.Push/PushBlob`, PushBlobRequest.encode(request).finish());
    }),
    target('fetchDirectory', () => {
      const request = { ...FetchDirectoryRequest.decode(NOTHING), uris: [`urn:${random.below(4)}`] };
      return one(`${ASSET}.Fetch/FetchDirectory`, FetchDirectoryRequest.encode(request).finish());
    }),
    target('pushDirectory', () => {
      const request = {
        ...PushDirectoryRequest.decode(NOTHING),
        uris: [`urn:${random.below(4)}`],
        rootDirectoryDigest: toWire(wholeFolder.digest),
      };
      return one(`${ASSET}.Push/PushDirectory`, PushDirectoryRequest.encode(request).finish());
    }),
    target('pathSets', () => {
      const name = { instanceName: random.pick(['', 'some/project']), key: digest().hash };
      const candidates = Array.from({ length: random.below(5) }, () => {
        const result = Buffer.from(digest().hash, 'hex');
        return { set: result.subarray(0, 8), result };
      });
      const inlinedBytes = random.pick([0, 1000, 1_000_000]);
      const step = Buffer.alloc(random.pick([0, 1, 16]), random.below(256));
      const find = { ...name, candidates, inlinedBytes, afterPrediction: random.pick([true, false]), step };
      return random.pick([
        one(`${PATH_SETS}/List`, ListPathSetsRequest.encode({ ...name, inlinedBytes, step }).finish()),
        one(`${PATH_SETS}/Add`, AddPathSetRequest.encode({ ...name, set: digest().hash }).finish()),
        one(`${PATH_SETS}/Find`, FindResultRequest.encode(find).finish()),
      ]);
    }),
  ];
}
