// Artifact: the content of an opaque key, encoded as an ActionResult with one output file.
// So the store checks and evicts it like every other result (docs/decisions/0060).
// Headers that the tool wants back are attributes, in the metadata of the result.
import { type Digest, digestOf, parseDigest, toWire } from '../../../core/digest.ts';
import { type Namespace, protocolNamespace } from '../../../core/namespace.ts';
import { ArtifactAttributes } from '../../../core/proto/generated/assay.ts';
import { ActionResult, ExecutedActionMetadata } from '../../../core/proto/generated/reapi.ts';
import { decodeResult } from '../../../core/result.ts';
import type { ResultAddress } from '../../../store/store.ts';
import type { ScopedStore } from '../../access/scoped-store.ts';

export type Attributes = Readonly<Record<string, string>>;

export interface Artifact {
  readonly digest: Digest;
  readonly attributes: Attributes;
}

const OUTPUT_PATH = 'artifact';
const ATTRIBUTES_TYPE = 'type.googleapis.com/assay.v1.ArtifactAttributes';
const NOTHING = new Uint8Array(0);

/**
 * A key may be any text: its SHA-256 is the key of the result, in a namespace that only this protocol can
 * reach.
 */
export function artifactAddress(protocol: string, namespace: Namespace, key: string): ResultAddress {
  return { namespace: protocolNamespace(protocol, namespace), key: digestOf(Buffer.from(key)).hash };
}

export function encodeArtifact({ digest, attributes }: Artifact): Uint8Array {
  const isPlain = Object.keys(attributes).length === 0;
  return ActionResult.encode({
    ...ActionResult.decode(NOTHING),
    outputFiles: [
      { path: OUTPUT_PATH, digest: toWire(digest), isExecutable: false, contents: Buffer.from(NOTHING) },
    ],
    ...(!isPlain && { executionMetadata: metadataOf(attributes) }),
  }).finish();
}

function metadataOf(attributes: Attributes): ExecutedActionMetadata {
  const value = Buffer.from(ArtifactAttributes.encode({ values: { ...attributes } }).finish());
  return {
    ...ExecutedActionMetadata.decode(NOTHING),
    auxiliaryMetadata: [{ typeUrl: ATTRIBUTES_TYPE, value }],
  };
}

export function decodeArtifact(bytes: Uint8Array): Artifact | undefined {
  const { outputFiles, executionMetadata } = decodeResult(bytes);
  const output = outputFiles.find(({ path }) => path === OUTPUT_PATH)?.digest;
  const kept = executionMetadata?.auxiliaryMetadata.find(({ typeUrl }) => typeUrl === ATTRIBUTES_TYPE);
  const attributes = kept ? ArtifactAttributes.decode(kept.value).values : {};
  return output && { digest: parseDigest(output), attributes };
}

/** A part of an upload. Another namespace may have a part of the same name, of other content. */
export async function findOwnArtifact(
  { results }: ScopedStore,
  address: ResultAddress,
): Promise<Artifact | undefined> {
  const result = await results.getOwn(address);
  return result && decodeArtifact(result.bytes);
}

export async function findArtifact(
  { results }: ScopedStore,
  address: ResultAddress,
): Promise<Artifact | undefined> {
  const result = await results.get(address);
  return result && decodeArtifact(result.bytes);
}
