// What a result names. A result may be stored, and served, only while every one of these is in the store.
import { type Digest, DigestSet, digestOf, parseDigest } from './digest.ts';
import { AssayError } from './errors.ts';
import { decodeStrict } from './message.ts';
import { ActionResult, type Digest as WireDigest } from './proto/generated/reapi.ts';
import { ACTION_RESULT } from './shapes.ts';

export interface ReferencedContent {
  /** Everything the result names directly, each once; includes the Trees themselves. */
  readonly blobs: readonly Digest[];
  /** Those of the blobs that are Trees, whose leaves are named too. */
  readonly trees: readonly Digest[];
  /** Roots of folders that are stored as Directory messages, whose descendants are named too. */
  readonly directories: readonly Digest[];
}

export function decodeResult(bytes: Uint8Array): ActionResult {
  return decodeStrict(ActionResult, ACTION_RESULT, bytes, 'not an ActionResult message');
}

export function referencedContent(result: ActionResult): ReferencedContent {
  const blobs = new DigestSet();
  const add = (wire: WireDigest): Digest => {
    const digest = parseDigest(wire);
    blobs.add(digest);
    return digest;
  };
  for (const file of result.outputFiles) add(file.digest ?? missingDigest(file.path));
  const trees = new DigestSet();
  const directories = new DigestSet();
  for (const folder of result.outputDirectories) {
    if (!folder.treeDigest && !folder.rootDirectoryDigest) missingDigest(folder.path);
    if (folder.treeDigest) trees.add(add(folder.treeDigest));
    if (folder.rootDirectoryDigest) directories.add(add(folder.rootDirectoryDigest));
  }
  if (result.stdoutDigest) add(result.stdoutDigest);
  if (result.stderrDigest) add(result.stderrDigest);
  return { blobs: blobs.values(), trees: trees.values(), directories: directories.values() };
}

/** A file whose content the result carries must be the one that its digest names: clients take it without a further look. */
export function verifyInlineContents({ outputFiles }: ActionResult): void {
  for (const { path, digest, contents } of outputFiles) {
    if (!digest || contents.length === 0) continue;
    const { hash, size } = digestOf(contents);
    if (hash !== digest.hash || size !== digest.sizeBytes)
      throw new AssayError(
        'ASSAY_DIGEST_MISMATCH',
        `the content of ${JSON.stringify(path)} inside the result`,
      );
  }
}

/** A result that names nothing yet. */
export function emptyResult(exitCode: number): ActionResult {
  return {
    outputFiles: [],
    outputDirectories: [],
    outputSymlinks: [],
    outputFileSymlinks: [],
    outputDirectorySymlinks: [],
    exitCode,
    stdoutRaw: Buffer.alloc(0),
    stderrRaw: Buffer.alloc(0),
  };
}

/**
 * The part of a result that must be the same whenever the same key is built again. Logs and times are left out:
 * they differ between honest runs.
 */
export function deterministicPart(result: ActionResult): Uint8Array {
  return ActionResult.encode({
    outputFiles: sortedByPath(result.outputFiles).map(({ path, digest, isExecutable }) => ({
      path,
      isExecutable,
      contents: Buffer.alloc(0),
      ...(digest && { digest: { hash: digest.hash, sizeBytes: digest.sizeBytes } }),
    })),
    outputDirectories: sortedByPath(result.outputDirectories).map(
      ({ path, treeDigest, rootDirectoryDigest }) => ({
        path,
        isTopologicallySorted: false,
        ...(treeDigest && { treeDigest }),
        ...(rootDirectoryDigest && { rootDirectoryDigest }),
      }),
    ),
    outputFileSymlinks: [],
    outputDirectorySymlinks: [],
    outputSymlinks: sortedByPath([
      ...result.outputSymlinks,
      ...result.outputFileSymlinks,
      ...result.outputDirectorySymlinks,
    ]).map(({ path, target }) => ({ path, target })),
    exitCode: result.exitCode,
    stdoutRaw: Buffer.alloc(0),
    stderrRaw: Buffer.alloc(0),
  }).finish();
}

function sortedByPath<T extends { path: string }>(items: readonly T[]): T[] {
  return [...items].sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
}

function missingDigest(path: string): never {
  throw new AssayError('ASSAY_RESULT_MALFORMED', `the output ${JSON.stringify(path)} has no digest`);
}
