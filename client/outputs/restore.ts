// Restores the outputs of a result: correct outputs stay, wrong ones are staged and renamed into place.
// Nothing in the workspace changes before all needed content has been read from the store and verified.
import {
  closeSync,
  fchmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  symlinkSync,
  writeSync,
} from 'node:fs';
import type { Digest } from '../../core/digest.ts';
import { AssayError, isSystemError } from '../../core/errors.ts';
import { join, nameToBytes, type RelPath, ROOT, toSystemPath } from '../../core/path.ts';
import type { Entry } from '../../core/tree.ts';
import { STORE } from '../../store/limits.ts';
import type { Blobs, LargeBlob } from '../../store/store.ts';
import { makeFolder } from '../../system/files/make-folder.ts';
import { holdsMount } from '../../system/files/mounts.ts';
import type { FileDigests } from '../files/file-digest.ts';
import { withOpenParent, withPresentParent } from './open-parent.ts';
import type { Ownership } from './output-lock.ts';
import { contentIdOf, type Output, observeOutput, refuseLinkedParents, sameOutput } from './outputs.ts';
import { Staging } from './staging.ts';

export interface RestoredOutputs {
  readonly written: number;
}

interface RestoreOptions {
  /**
   * The mtime of all outputs, unless all of them are in place already. Without it, written outputs get the
   * current time and correct ones keep theirs.
   */
  readonly time?: Date | undefined;
  /** If it is lost, nothing is moved into place: another run may own the outputs by then (O4). */
  readonly ownership?: Pick<Ownership, 'lost'> | undefined;
}

export async function restoreOutputs(
  outputs: readonly Output[],
  workspace: string,
  blobs: Blobs,
  digests: FileDigests,
  { time, ownership }: RestoreOptions = {},
): Promise<RestoredOutputs> {
  const wrong = wrongOutputs(outputs, workspace, digests);
  if (wrong.length === 0) return { written: 0 };
  const staging = Staging.create(workspace);
  try {
    const staged: { output: Output; at: string }[] = [];
    for (const { output, present } of wrong) {
      staged.push({ output, at: await stage(output, present, staging.next(), workspace, blobs) });
    }
    if (time) {
      const { setTimes } = await import('./times.ts');
      const right = outputs.filter((output) => !wrong.some((one) => one.output === output));
      // Before any move: if the process is killed in between, an output is still wrong, and the next run does
      // all again.
      for (const output of right) setTimes(output, workspace, output.path, time);
      for (const { output, at } of staged) setTimes(output, at, ROOT, time);
    }
    const lost = ownership?.lost();
    if (lost !== undefined) throw new AssayError('ASSAY_OUTPUT_UNFIT', lost);
    for (const { output, at } of staged) moveIntoPlace(at, output.path, workspace, staging);
  } finally {
    staging.remove();
  }
  return { written: wrong.length };
}

interface WrongOutput {
  readonly output: Output;
  /** The output that is on disk. */
  readonly present: Output | undefined;
}

export function wrongOutputs(
  outputs: readonly Output[],
  workspace: string,
  digests: FileDigests,
): WrongOutput[] {
  return outputs.flatMap((output) => {
    refuseLinkedParents(workspace, output.path);
    const present = observeQuietly(workspace, output.path, digests);
    return sameOutput(present, output) ? [] : [{ output, present }];
  });
}

/** Undefined also for something unreadable or odd: it is a wrong output, which is replaced. */
function observeQuietly(workspace: string, path: RelPath, digests: FileDigests): Output | undefined {
  try {
    return observeOutput(workspace, path, digests);
  } catch (error) {
    if (error instanceof AssayError) return undefined;
    throw error;
  }
}

async function stage(
  output: Output,
  present: Output | undefined,
  at: string,
  workspace: string,
  blobs: Blobs,
): Promise<string> {
  if (output.kind !== 'directory') {
    await write(output, at, blobs);
    return at;
  }
  mkdirSync(at);
  const reusable = reusableFiles(present);
  for (const entry of output.entries) {
    const target = toSystemPath(at, entry.path);
    const same = entry.kind === 'file' && reusable.get(entry.path) === contentIdOf(entry);
    const linked = same && tryLink(toSystemPath(workspace, join(output.path, entry.path)), target);
    if (!linked) await write(entry, target, blobs);
  }
  return at;
}

/**
 * The files of the present folder: unchanged ones are linked into the new folder and keep their inode and
 * times.
 */
function reusableFiles(present: Output | undefined): ReadonlyMap<RelPath, string> {
  const entries = present?.kind === 'directory' ? present.entries : [];
  return new Map(entries.map((entry) => [entry.path, contentIdOf(entry)]));
}

function tryLink(from: string | Buffer, to: string | Buffer): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch {
    return false;
  }
}

async function write(entry: Entry | Output, at: string | Buffer, blobs: Blobs): Promise<void> {
  if (entry.kind === 'directory') makeFolder(at);
  else if (entry.kind === 'symlink') symlinkSync(nameToBytes(entry.target), at);
  else await writeFile(entry.digest, entry.executable, at, blobs);
}

async function writeFile(
  digest: Digest,
  executable: boolean,
  at: string | Buffer,
  blobs: Blobs,
): Promise<void> {
  const blob = await blobs.get(digest.hash);
  if (!blob || blob.size !== digest.size) {
    throw new AssayError('ASSAY_BLOB_CORRUPT', `the store no longer has ${digest.hash}`);
  }
  const descriptor = openSync(at, 'wx', executable ? 0o777 : 0o666);
  try {
    if (blob.bytes) writeWhole(descriptor, blob.bytes, 0);
    else await writeChunks(descriptor, blob);
    // The umask may have removed the executable bit.
    if (executable) fchmodSync(descriptor, (0o777 & ~process.umask()) | 0o100);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Both halves at once: while another thread reads a chunk of one half, this one verifies and writes one of
 * the other.
 */
async function writeChunks(descriptor: number, blob: LargeBlob): Promise<void> {
  const half = Math.ceil(blob.size / 2 / STORE.chunkBytes) * STORE.chunkBytes;
  const halves = [0, half].filter((offset) => offset < blob.size);
  const written = halves.map((offset) => writePart(descriptor, blob, offset, half));
  // Both use the descriptor, so both must end before it is closed.
  for (const end of await Promise.allSettled(written)) if (end.status === 'rejected') throw end.reason;
}

async function writePart(descriptor: number, blob: LargeBlob, offset: number, length: number): Promise<void> {
  let position = offset;
  for await (const chunk of blob.chunks(offset, length)) {
    writeWhole(descriptor, chunk, position);
    position += chunk.length;
  }
}

function writeWhole(descriptor: number, bytes: Uint8Array, position: number): void {
  for (let done = 0; done < bytes.length; ) {
    done += writeSync(descriptor, bytes, done, bytes.length - done, position + done);
  }
}

function moveIntoPlace(staged: string, path: RelPath, workspace: string, staging: Staging): void {
  withOpenParent(workspace, path, (target) => {
    moveFromParent(target, workspace, path, staging);
    renameSync(staged, target);
    staging.moved(staged);
  });
}

/** Moves what is at `path` to `aside`, in the staging folder; undefined if nothing is there. */
export function moveAside(
  workspace: string,
  path: RelPath,
  staging: Staging,
  aside?: string,
): string | undefined {
  return withPresentParent(workspace, path, (target) =>
    moveFromParent(target, workspace, path, staging, aside),
  );
}

function moveFromParent(
  target: Buffer,
  workspace: string,
  path: RelPath,
  staging: Staging,
  aside: string = staging.next(),
): string | undefined {
  if (!lstatSync(target, { throwIfNoEntry: false })) return undefined;
  if (holdsMount(toSystemPath(workspace, path).toString())) {
    throw new AssayError('ASSAY_OUTPUT_UNFIT', `${path} is or holds a mount point`);
  }
  try {
    renameSync(target, aside);
    return aside;
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return undefined;
    throw error;
  }
}
