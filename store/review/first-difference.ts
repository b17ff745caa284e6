// The first difference between two results of one key: the exit code, then the first output by its path, then
// the logs. Two folders are compared name by name, and only where their digests differ.
import { type Digest, digestOf, parseDigest } from '../../core/digest.ts';
import { AssayError } from '../../core/errors.ts';
import { decodeStrict, rawMessages } from '../../core/message.ts';
import { compareNames } from '../../core/path.ts';
import {
  type ActionResult,
  Directory,
  Tree,
  type Digest as WireDigest,
} from '../../core/proto/generated/reapi.ts';
import { DIRECTORY, TREE } from '../../core/proto/shapes.ts';
import { decodeResult } from '../../core/result.ts';
import { STORE } from '../limits.ts';
import type { Blobs } from '../store.ts';
import { type ByteBudget, type ByteDifference, firstDifferingByte, type Side } from './first-byte.ts';

/** A pair has the value of the first result, then that of the second. */
export interface ResultDifference {
  readonly exitCodes?: readonly [number, number];
  readonly output?: OutputDifference;
  /** Only if the outputs are equal. */
  readonly log?: LogDifference;
}

export type OutputDifference = { readonly path: string } & (
  | ({ readonly how: 'content'; readonly sizes: readonly [number, number] } & ByteDifference)
  | { readonly how: 'only-in'; readonly side: 'first' | 'second' }
  | { readonly how: 'kind'; readonly kinds: readonly [Kind, Kind] }
  | { readonly how: 'executable'; readonly executable: readonly [boolean, boolean] }
  | { readonly how: 'target'; readonly targets: readonly [string, string] }
  /** The list of a folder's files is gone. */
  | { readonly how: 'folder'; readonly gone: Side }
);

type LogDifference = { readonly stream: 'stdout' | 'stderr' } & ByteDifference;

type Kind = 'file' | 'folder' | 'link';

/** Empty if the results differ in nothing that a client sees. */
export async function firstDifference(
  blobs: Blobs,
  firstBytes: Uint8Array,
  secondBytes: Uint8Array,
  budget: ByteBudget,
): Promise<ResultDifference> {
  const [first, second] = [decodeResult(firstBytes), decodeResult(secondBytes)];
  const comparison = new Comparison(blobs, budget);
  const output = await comparison.names(outputsOf(first), outputsOf(second), '');
  const log = output ? undefined : await comparison.logs(first, second);
  return {
    ...(first.exitCode !== second.exitCode && { exitCodes: [first.exitCode, second.exitCode] as const }),
    ...(output && { output }),
    ...(log && { log }),
  };
}

type Node =
  | { readonly kind: 'file'; readonly digest: Digest; readonly executable: boolean }
  | { readonly kind: 'link'; readonly target: string }
  | { readonly kind: 'folder'; readonly digest: Digest; readonly read: ReadFolder };

type Nodes = ReadonlyMap<string, Node>;

/** The names in a folder. Undefined if the blob that has them is gone. */
type ReadFolder = (blobs: Blobs) => Promise<Nodes | undefined>;

class Comparison {
  readonly #blobs: Blobs;
  readonly #budget: ByteBudget;
  /** Pairs of folders that differ in nothing: a small Tree can name one folder many times. */
  readonly #equal = new Set<string>();

  constructor(blobs: Blobs, budget: ByteBudget) {
    this.#blobs = blobs;
    this.#budget = budget;
  }

  async names(first: Nodes, second: Nodes, prefix: string): Promise<OutputDifference | undefined> {
    const names = [...new Set([...first.keys(), ...second.keys()])].sort(compareNames);
    for (const name of names) {
      const path = `${prefix}${name}`;
      const [a, b] = [first.get(name), second.get(name)];
      if (!a || !b) return { path, how: 'only-in', side: a ? 'first' : 'second' };
      const found = await this.#nodes(path, a, b);
      if (found) return found;
    }
    return undefined;
  }

  async #nodes(path: string, a: Node, b: Node): Promise<OutputDifference | undefined> {
    if (a.kind === 'link' && b.kind === 'link')
      return a.target === b.target ? undefined : { path, how: 'target', targets: [a.target, b.target] };
    if (a.kind === 'folder' && b.kind === 'folder') return this.#folders(path, a, b);
    if (a.kind !== 'file' || b.kind !== 'file') return { path, how: 'kind', kinds: [a.kind, b.kind] };
    const content = await firstDifferingByte(this.#blobs, a.digest, b.digest, this.#budget);
    if (content) return { path, how: 'content', sizes: [a.digest.size, b.digest.size], ...content };
    if (a.executable === b.executable) return undefined;
    return { path, how: 'executable', executable: [a.executable, b.executable] };
  }

  async #folders(
    path: string,
    a: Extract<Node, { kind: 'folder' }>,
    b: Extract<Node, { kind: 'folder' }>,
  ): Promise<OutputDifference | undefined> {
    const pair = `${a.digest.hash} ${b.digest.hash}`;
    if (a.digest.hash === b.digest.hash || this.#equal.has(pair)) return undefined;
    const [left, right] = [await a.read(this.#blobs), await b.read(this.#blobs)];
    if (!left || !right) return { path, how: 'folder', gone: left ? 'second' : right ? 'first' : 'both' };
    const found = await this.names(left, right, `${path}/`);
    if (!found) this.#equal.add(pair);
    return found;
  }

  async logs(first: ActionResult, second: ActionResult): Promise<LogDifference | undefined> {
    for (const stream of ['stdout', 'stderr'] as const) {
      const [a, b] = [logOf(first, stream), logOf(second, stream)];
      const found = await firstDifferingByte(this.#blobs, a, b, this.#budget);
      if (found) return { stream, ...found };
    }
    return undefined;
  }
}

function logOf(result: ActionResult, stream: 'stdout' | 'stderr'): Digest | Uint8Array {
  const digest = stream === 'stdout' ? result.stdoutDigest : result.stderrDigest;
  return digest ? parseDigest(digest) : stream === 'stdout' ? result.stdoutRaw : result.stderrRaw;
}

/** The outputs of a result by path. */
function outputsOf(result: ActionResult): Nodes {
  const { outputFiles, outputDirectories, outputSymlinks, outputFileSymlinks, outputDirectorySymlinks } =
    result;
  const nodes = new Map<string, Node>();
  for (const { path, digest, isExecutable } of outputFiles)
    nodes.set(path, { kind: 'file', digest: given(digest, path), executable: isExecutable });
  for (const { path, target } of [...outputSymlinks, ...outputFileSymlinks, ...outputDirectorySymlinks])
    nodes.set(path, { kind: 'link', target });
  for (const { path, treeDigest, rootDirectoryDigest } of outputDirectories) {
    const digest = given(treeDigest ?? rootDirectoryDigest, path);
    nodes.set(path, { kind: 'folder', digest, read: treeDigest ? readTree(digest) : readDirectory(digest) });
  }
  return nodes;
}

function readTree(digest: Digest): ReadFolder {
  return async (blobs) => {
    const bytes = await readWhole(digest, blobs);
    if (!bytes) return undefined;
    const tree = decodeStrict(Tree, TREE, bytes, 'a blob that a result names as a Tree is not one');
    const folders = new Map<string, Directory>();
    const addresses = rawMessages(bytes, CHILDREN_FIELD).map((child) => digestOf(child).hash);
    for (const [at, child] of tree.children.entries()) folders.set(addresses[at] ?? '', child);
    const below =
      (of: Digest): ReadFolder =>
      async () => {
        const folder = folders.get(of.hash);
        return folder && nodesOf(folder, below);
      };
    return nodesOf(tree.root ?? { files: [], directories: [], symlinks: [] }, below);
  };
}

/** The field number of Tree.children. A child's address is the digest of its bytes as they were sent. */
const CHILDREN_FIELD = 2;

function readDirectory(digest: Digest): ReadFolder {
  return async (blobs) => {
    const bytes = await readWhole(digest, blobs);
    const what = 'a blob that a result names as a Directory is not one';
    return bytes && nodesOf(decodeStrict(Directory, DIRECTORY, bytes, what), readDirectory);
  };
}

function nodesOf({ files, directories, symlinks }: Directory, below: (digest: Digest) => ReadFolder): Nodes {
  const nodes = new Map<string, Node>();
  for (const { name, digest, isExecutable } of files)
    nodes.set(name, { kind: 'file', digest: given(digest, name), executable: isExecutable });
  for (const { name, target } of symlinks) nodes.set(name, { kind: 'link', target });
  for (const { name, digest } of directories) {
    const known = given(digest, name);
    nodes.set(name, { kind: 'folder', digest: known, read: below(known) });
  }
  return nodes;
}

/** Undefined if the blob is gone, damaged, or larger than a result that the store accepts may name. */
async function readWhole({ hash, size }: Digest, blobs: Blobs): Promise<Buffer | undefined> {
  if (size > STORE.maxTreeBytes) return undefined;
  try {
    const blob = await blobs.get(hash);
    if (blob?.size !== size) return undefined;
    if (blob.bytes) return blob.bytes;
    const whole = Buffer.allocUnsafe(size);
    let filled = 0;
    for await (const chunk of blob.chunks()) filled += chunk.copy(whole, filled);
    return whole;
  } catch (error) {
    if (error instanceof AssayError && error.code === 'ASSAY_BLOB_CORRUPT') return undefined;
    throw error;
  }
}

function given(digest: WireDigest | undefined, name: string): Digest {
  if (digest) return parseDigest(digest);
  throw new AssayError('ASSAY_RESULT_MALFORMED', `the output ${JSON.stringify(name)} has no digest`);
}
