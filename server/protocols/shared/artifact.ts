// What an opaque key leads to: a result with one output file, so that it is kept, checked and evicted like every other
// result. What the tool sent beside the bytes and wants back travels in the result's metadata.
import { type Digest, digestOf, parseDigest, toWire } from '../../../core/digest.ts';
import { type Namespace, protocolNamespace } from '../../../core/namespace.ts';
import { ArtifactAttributes } from '../../../core/proto/generated/assay.ts';
import { ActionResult, ExecutedActionMetadata } from '../../../core/proto/generated/reapi.ts';
import { decodeResult } from '../../../core/result.ts';
import type { ResultAddress, Store } from '../../../store/store.ts';

export type Attributes = Readonly<Record<string, string>>;

export interface Artifact {
  readonly digest: Digest;
  readonly attributes: Attributes;
}

const OUTPUT_PATH = 'artifact';
const ATTRIBUTES_TYPE = 'type.googleapis.com/assay.v1.ArtifactAttributes';
const NOTHING = new Uint8Array(0);

/** A key is any text: what is stored under is its SHA-256, in a space that only this protocol reaches. */
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

export async function findArtifact(
  { results }: Store,
  address: ResultAddress,
): Promise<Artifact | undefined> {
  const result = await results.get(address);
  return result && decodeArtifact(result.bytes);
}
