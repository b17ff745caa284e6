// A snapshot: the content of some paths at one time, stored as a result with these outputs.
// Content-addressed, so two similar snapshots share their equal blobs in storage and transfer.

import type { FileDigests } from '../../client/files/file-digest.ts';
import { encodeOutputs, fitOutput, type Sealed } from '../../client/outputs/encoded-outputs.ts';
import { type Output, outputsNamedBy, whyUnfit } from '../../client/outputs/outputs.ts';
import type { ReadTree } from '../../client/remote/fetch-content.ts';
import { AssayError } from '../../core/errors.ts';
import { isWithin, parseRelPath, type RelPath, ROOT } from '../../core/path.ts';
import type { Any } from '../../core/proto/generated/google/protobuf/any.ts';
import { ActionResult } from '../../core/proto/generated/reapi.ts';
import { decodeResult } from '../../core/result.ts';

export interface Snapshot {
  /** An encoded ActionResult. */
  readonly bytes: Uint8Array;
  readonly contents: readonly Sealed[];
}

/** What a snapshot says of itself. Two snapshots that differ in it alone have the same content. */
interface SnapshotOrigin {
  /** How long the content took to make, if known. */
  readonly madeInMs?: number;
  /** Where it was taken. */
  readonly worker?: string;
  readonly note?: Any;
}

export function takeSnapshot(
  root: string,
  paths: readonly RelPath[],
  digests: FileDigests,
  takenAt: number,
  { madeInMs = 0, worker = '', note }: SnapshotOrigin = {},
): Snapshot {
  for (const path of paths) refuseRoot(path);
  const outputs = paths.map((path) => fitOutput(root, path, digests) ?? nothingAt(path));
  const { result, contents } = encodeOutputs(outputs, root, ROOT);
  const executionMetadata = {
    worker,
    executionStartTimestamp: timestamp(takenAt - madeInMs),
    executionCompletedTimestamp: timestamp(takenAt),
    auxiliaryMetadata: note ? [note] : [],
  };
  return {
    bytes: ActionResult.encode({ ...result, executionMetadata }).finish(),
    contents: contents.values(),
  };
}

function timestamp(milliseconds: number): Timestamp {
  const seconds = Math.floor(milliseconds / 1000);
  return { seconds, nanos: Math.round((milliseconds - seconds * 1000) * 1_000_000) };
}

/** In milliseconds since 1970. */
export function takenAt(bytes: Uint8Array): number {
  return millisecondsOf(decodeResult(bytes).executionMetadata?.executionCompletedTimestamp);
}

/** How long the content took to make; 0 if unknown. Snapshots of version 0.1 have no such time. */
export function madeInMs(bytes: Uint8Array): number {
  const { executionStartTimestamp: start, executionCompletedTimestamp: end } =
    decodeResult(bytes).executionMetadata ?? {};
  return start && end ? Math.max(0, millisecondsOf(end) - millisecondsOf(start)) : 0;
}

function millisecondsOf(at: Timestamp | undefined): number {
  return at ? at.seconds * 1000 + at.nanos / 1_000_000 : 0;
}

interface Timestamp {
  readonly seconds: number;
  readonly nanos: number;
}

/**
 * The outputs that a restore would write. A snapshot may come from anybody with write access, so paths that
 * leave the root are refused.
 */
export async function outputsIn(bytes: Uint8Array, readTree: ReadTree): Promise<Output[]> {
  const result = decodeResult(bytes);
  for (const path of pathsIn(result)) refuseRoot(parseRelPath(path));
  const outputs = await outputsNamedBy(result, ROOT, readTree);
  for (const output of outputs) {
    const why = whyUnfit(output);
    if (why !== undefined) throw unfit(why);
    const around = outputs.find((other) => other !== output && isWithin(output.path, other.path));
    if (around) throw unfit(`${output.path} lies inside ${around.path}`);
  }
  return outputs;
}

function pathsIn(result: ActionResult): string[] {
  const { outputFiles, outputDirectories, outputSymlinks } = result;
  return [...outputFiles, ...outputDirectories, ...outputSymlinks].map(({ path }) => path);
}

function refuseRoot(path: RelPath): void {
  if (path === ROOT) throw unfit('the whole workspace cannot be saved; name its folders');
}

function nothingAt(path: RelPath): never {
  throw unfit(`there is nothing at ${path}`);
}

function unfit(why: string): AssayError {
  return new AssayError('ASSAY_OUTPUT_UNFIT', why);
}
