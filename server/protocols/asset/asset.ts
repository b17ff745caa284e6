// Asset: a blob or a folder under a name, which is a URI with qualifiers. A push may change what a name
// refers to. It is stored as a result in its own namespace, so a fetch finds it only while all its content is
// stored.

import { digestOf } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { type Namespace, protocolNamespace } from '../../../core/namespace.ts';
import { AssetTimes } from '../../../core/proto/generated/assay.ts';
import type { Qualifier } from '../../../core/proto/generated/asset.ts';
import type { Timestamp } from '../../../core/proto/generated/google/protobuf/timestamp.ts';
import { ActionResult, type Digest, ExecutedActionMetadata } from '../../../core/proto/generated/reapi.ts';
import { decodeResult } from '../../../core/result.ts';
import { isLossless } from '../../../core/text/lossless.ts';
import type { ResultAddress } from '../../../store/store.ts';
import { PROTOCOL } from '../../limits.ts';

export type AssetKind = 'blob' | 'directory';

interface Asset {
  readonly kind: AssetKind;
  readonly digest: Digest;
  readonly referencesBlobs: readonly Digest[];
  readonly referencesDirectories: readonly Digest[];
  readonly pushedAt: Timestamp;
  readonly expiresAt: Timestamp | undefined;
}

export type FoundAsset = Pick<Asset, 'digest' | 'pushedAt' | 'expiresAt'>;

const ASSET_PATH = 'asset';
const TIMES_TYPE = 'type.googleapis.com/assay.v1.AssetTimes';
const NOTHING = Buffer.alloc(0);

/**
 * Throws for an invalid name. BuildStream probes a server with a request without URIs, and expects this
 * error.
 */
export function checkAssetName(uris: readonly string[], qualifiers: readonly Qualifier[]): void {
  const names = new Set(qualifiers.map(({ name }) => name));
  const texts = [...uris, ...qualifiers.flatMap(({ name, value }) => [name, value])];
  const isFine =
    uris.length > 0 &&
    uris.length <= PROTOCOL.maxAssetUris &&
    !uris.includes('') &&
    names.size === qualifiers.length &&
    texts.every(isLossless);
  if (!isFine)
    throw new AssayError('ASSAY_BAD_ASSET', `${uris.length} URIs, ${qualifiers.length} qualifiers`);
}

/** The order of qualifiers does not matter. */
export function assetAddress(
  namespace: Namespace,
  kind: AssetKind,
  uri: string,
  qualifiers: readonly Qualifier[],
): ResultAddress {
  const sorted = qualifiers
    .map(({ name, value }) => [name, value])
    .sort(([a = ''], [b = '']) => (a < b ? -1 : 1));
  const key = digestOf(Buffer.from(JSON.stringify([kind, uri, sorted]))).hash;
  return { namespace: protocolNamespace('asset', namespace), key };
}

export function encodeAsset(asset: Asset): Uint8Array {
  const { kind, digest, referencesBlobs, referencesDirectories } = asset;
  const file = (path: string, content: Digest) => ({
    path,
    digest: content,
    isExecutable: false,
    contents: NOTHING,
  });
  const folder = (path: string, rootDirectoryDigest: Digest) => ({
    path,
    rootDirectoryDigest,
    isTopologicallySorted: false,
  });
  const files = referencesBlobs.map((content, index) => file(`references/blobs/${index}`, content));
  const folders = referencesDirectories.map((root, index) => folder(`references/directories/${index}`, root));
  return ActionResult.encode({
    ...ActionResult.decode(NOTHING),
    outputFiles: kind === 'blob' ? [file(ASSET_PATH, digest), ...files] : files,
    outputDirectories: kind === 'directory' ? [folder(ASSET_PATH, digest), ...folders] : folders,
    executionMetadata: {
      ...ExecutedActionMetadata.decode(NOTHING),
      auxiliaryMetadata: [{ typeUrl: TIMES_TYPE, value: timesOf(asset) }],
    },
  }).finish();
}

function timesOf({ pushedAt, expiresAt }: Asset): Buffer {
  return Buffer.from(AssetTimes.encode({ pushedAt, ...(expiresAt && { expiresAt }) }).finish());
}

export function decodeAsset(bytes: Uint8Array): FoundAsset | undefined {
  const { outputFiles, outputDirectories, executionMetadata } = decodeResult(bytes);
  const file = outputFiles.find(({ path }) => path === ASSET_PATH)?.digest;
  const folder = outputDirectories.find(({ path }) => path === ASSET_PATH)?.rootDirectoryDigest;
  const digest = file ?? folder;
  const kept = executionMetadata?.auxiliaryMetadata.find(({ typeUrl }) => typeUrl === TIMES_TYPE);
  const { pushedAt = { seconds: 0, nanos: 0 }, expiresAt } = AssetTimes.decode(kept?.value ?? NOTHING);
  return digest && { digest, pushedAt, expiresAt };
}
