// Valid calls for each gRPC method of the server. The keys are those that main has stored.
// The matrix sends each of them, and fails for a method that has none.
import { type Digest, digestOf, toWire } from '../../../core/digest.ts';
import { encodeField } from '../../../core/edit-message.ts';
import { PATH_SETS_SERVICE } from '../../../core/path-set.ts';
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
import {
  BatchReadBlobsRequest,
  BatchUpdateBlobsRequest,
  FindMissingBlobsRequest,
  GetActionResultRequest,
  GetCapabilitiesRequest,
  GetTreeRequest,
  SpliceBlobRequest,
  SplitBlobRequest,
} from '../../../core/proto/generated/reapi-services.ts';
import { filesOfWings } from '../../rig/wings.ts';
import { digestBytes, PATHS, readName, uploadName } from '../../server/protocols/reapi/rig.ts';
import { BLOBS, contentBy, DIGESTS, KEY, resultBy } from './content.ts';

/** The messages of each call that this identity makes. */
type Calls = (identity: string) => readonly (readonly Uint8Array[])[];

const NOTHING = new Uint8Array(0);
const about = { instanceName: '', digestFunction: 0 } as const;
const ASSET = '/build.bazel.remote.asset.v1';
const NAMED = { uris: ['urn:an-asset'] };
const STEP = Buffer.alloc(16, 7);
const ALL = Object.values(DIGESTS);

const one = (message: { finish(): Uint8Array }): readonly Uint8Array[] => [message.finish()];

function writing(digest: Digest, data: Buffer, finishWrite: boolean): readonly Uint8Array[] {
  return one(
    WriteRequest.encode({ resourceName: uploadName(digest, 'an-id'), writeOffset: 0, finishWrite, data }),
  );
}

function updating(key: Digest, result: Uint8Array): readonly Uint8Array[] {
  return [Buffer.concat([encodeField(2, digestBytes(key)), encodeField(3, result)])];
}

const list = { instanceName: '', key: KEY.hash };
const candidates = [{ set: Buffer.alloc(8), result: Buffer.from(KEY.hash, 'hex') }];

export type GrpcExamples = Readonly<Record<string, Calls>>;

const OF_TRUNK: GrpcExamples = {
  [PATHS.capabilities]: () => [one(GetCapabilitiesRequest.encode({ instanceName: '' }))],
  [PATHS.getResult]: () => [
    one(
      GetActionResultRequest.encode({
        ...about,
        actionDigest: toWire(KEY),
        inlineStdout: true,
        inlineStderr: true,
        inlineOutputFiles: ['out/0'],
      }),
    ),
  ],
  [PATHS.updateResult]: (identity) => [
    updating(KEY, resultBy(identity)),
    updating(digestOf(Buffer.from('another key')), resultBy(identity, DIGESTS.large)),
  ],
  [PATHS.findMissing]: () => [
    one(FindMissingBlobsRequest.encode({ ...about, blobDigests: ALL.map(toWire) })),
  ],
  [PATHS.batchRead]: () => [
    one(
      BatchReadBlobsRequest.encode({
        ...about,
        digests: [DIGESTS.small, DIGESTS.folder, DIGESTS.pathSet].map(toWire),
        acceptableCompressors: [],
      }),
    ),
  ],
  [PATHS.getTree]: () => [
    one(GetTreeRequest.encode({ ...about, rootDigest: toWire(DIGESTS.folder), pageSize: 0, pageToken: '' })),
  ],
  [PATHS.batchUpdate]: (identity) => {
    const own = contentBy(identity, 'sent in a batch');
    const request = (digest: Digest, data: Buffer) => ({
      digest: toWire(digest),
      data,
      compressor: 0 as const,
    });
    return [
      one(
        BatchUpdateBlobsRequest.encode({
          ...about,
          requests: [request(digestOf(own), own), request(DIGESTS.small, own)],
        }),
      ),
    ];
  },
  [PATHS.split]: () =>
    [DIGESTS.large, DIGESTS.small].map((digest) =>
      one(SplitBlobRequest.encode({ ...about, blobDigest: toWire(digest), chunkingFunction: 1 })),
    ),
  [PATHS.splice]: () => [
    one(
      SpliceBlobRequest.encode({
        ...about,
        blobDigest: toWire(DIGESTS.small),
        chunkDigests: [toWire(DIGESTS.small)],
        chunkingFunction: 1,
      }),
    ),
    one(
      SpliceBlobRequest.encode({
        ...about,
        blobDigest: toWire(digestOf(Buffer.concat([BLOBS.small, BLOBS.folder]))),
        chunkDigests: [DIGESTS.small, DIGESTS.folder].map(toWire),
        chunkingFunction: 1,
      }),
    ),
  ],
  [PATHS.read]: () =>
    [DIGESTS.small, DIGESTS.large].map((digest) =>
      one(ReadRequest.encode({ resourceName: readName(digest), readOffset: 0, readLimit: 1000 })),
    ),
  [PATHS.writeStatus]: () =>
    [DIGESTS.small, DIGESTS.large].map((digest) =>
      one(QueryWriteStatusRequest.encode({ resourceName: uploadName(digest, 'an-id') })),
    ),
  [PATHS.write]: (identity) => {
    const own = contentBy(identity, 'sent as a stream');
    return [
      writing(digestOf(own), own, true),
      writing(DIGESTS.small, own, true),
      writing(DIGESTS.large, own, false),
    ];
  },
  [`${ASSET}.Fetch/FetchBlob`]: () => [
    one(FetchBlobRequest.encode({ ...FetchBlobRequest.decode(NOTHING), ...NAMED })),
  ],
  [`${ASSET}.Fetch/FetchDirectory`]: () => [
    one(FetchDirectoryRequest.encode({ ...FetchDirectoryRequest.decode(NOTHING), ...NAMED })),
  ],
  [`${ASSET}.Push/PushBlob`]: () => {
    const blank = { ...PushBlobRequest.decode(NOTHING), ...NAMED };
    return [
      one(PushBlobRequest.encode({ ...blank, blobDigest: toWire(DIGESTS.small) })),
      one(
        PushBlobRequest.encode({
          ...blank,
          blobDigest: toWire(DIGESTS.large),
          referencesDirectories: [toWire(DIGESTS.folder)],
        }),
      ),
    ];
  },
  [`${ASSET}.Push/PushDirectory`]: () => [
    one(
      PushDirectoryRequest.encode({
        ...PushDirectoryRequest.decode(NOTHING),
        ...NAMED,
        rootDirectoryDigest: toWire(DIGESTS.folder),
      }),
    ),
  ],
  [`/${PATH_SETS_SERVICE}/List`]: () => [
    one(ListPathSetsRequest.encode({ ...list, inlinedBytes: 100_000, step: STEP })),
  ],
  [`/${PATH_SETS_SERVICE}/Find`]: () => [
    one(
      FindResultRequest.encode({
        ...list,
        candidates,
        inlinedBytes: 100_000,
        afterPrediction: false,
        step: STEP,
      }),
    ),
  ],
  [`/${PATH_SETS_SERVICE}/Add`]: () => [
    one(AddPathSetRequest.encode({ ...list, set: DIGESTS.pathSet.hash })),
  ],
};

/** A wing has those of its own methods in test/grpc-examples.ts. */
async function ofWings(): Promise<GrpcExamples> {
  const all: GrpcExamples[] = [];
  for (const file of filesOfWings('test/grpc-examples.ts')) {
    const { GRPC_EXAMPLES }: { GRPC_EXAMPLES: GrpcExamples } = await import(file);
    all.push(GRPC_EXAMPLES);
  }
  return Object.assign({}, ...all);
}

export const GRPC_EXAMPLES: GrpcExamples = { ...OF_TRUNK, ...(await ofWings()) };
