// Decides whether two actions are similar enough for one to explain a miss of the other.
// They are if they share the name of an output or of an input, or most words of the command line.
// A leading shell does not count: too many commands start with one.
import { basename, posix } from 'node:path';
import { type Digest, type Hash, parseDigest } from '../../core/digest.ts';
import { type Command, Directory } from '../../core/proto/generated/reapi.ts';
import { readAction } from '../../store/actions/stored-action.ts';
import { readBlob } from '../../store/shared/read-blob.ts';
import type { BlobReader } from '../../store/store.ts';

/** Throws if the store no longer has one of them. */
export async function areSimilar(one: Hash, other: Hash, blobs: BlobReader): Promise<boolean> {
  const [a, b] = await Promise.all([readAction(one, blobs), readAction(other, blobs)]);
  return (
    shareOne(outputsOf(a.command), outputsOf(b.command)) ||
    haveSimilarWords(a.command.arguments, b.command.arguments) ||
    shareFile(a.inputRoot, b.inputRoot, blobs)
  );
}

function outputsOf({ workingDirectory, outputPaths }: Command): string[] {
  return outputPaths.map((path) => posix.join(workingDirectory, path));
}

function shareOne(some: readonly string[], others: readonly string[]): boolean {
  return some.some((one) => others.includes(one));
}

/** More than half of the words are equal. Options do not count: unrelated programs share them. */
function haveSimilarWords(one: readonly string[], other: readonly string[]): boolean {
  const [a, b] = [wordsOf(one), wordsOf(other)];
  return 2 * a.intersection(b).size > Math.max(a.size, b.size);
}

const SHELLS: ReadonlySet<string> = new Set(['sh', 'bash', 'dash', 'ksh', 'zsh']);

function wordsOf(command: readonly string[]): Set<string> {
  const [program = '', option = '', line = '', ...rest] = command;
  const isShell = SHELLS.has(basename(program)) && /^-[a-z]*c$/.test(option);
  const words = isShell ? [...line.split(/[\s;&|<>()'"]+/), ...rest] : command;
  return new Set(words.filter((word) => /^[^-]/.test(word)));
}

async function shareFile(one: Digest, other: Digest, blobs: BlobReader): Promise<boolean> {
  const [a, b] = [
    Directory.decode(await readBlob(one.hash, blobs)),
    Directory.decode(await readBlob(other.hash, blobs)),
  ];
  const leaves = ({ files, symlinks }: Directory) => [...files, ...symlinks].map(({ name }) => name);
  if (shareOne(leaves(a), leaves(b))) return true;
  for (const { name, digest } of a.directories) {
    const twin = b.directories.find((folder) => folder.name === name);
    if (digest && twin?.digest && (await shareFile(parseDigest(digest), parseDigest(twin.digest), blobs)))
      return true;
  }
  return false;
}
