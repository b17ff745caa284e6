// ActionResult: decoding it, the content that it references, and the part that must be deterministic.
// A result is stored and served only while the store has everything that it references.
import { type Digest, DigestSet, digestOf, parseDigest } from './digest.ts';
import { AssayError } from './errors.ts';
import { decodeStrict } from './message.ts';
import { ActionResult, type Digest as WireDigest } from './proto/generated/reapi.ts';
import { ACTION_RESULT } from './proto/shapes.ts';

interface ReferencedContent {
  /** Every blob that the result names directly, each once. Includes the Trees themselves. */
  readonly blobs: readonly Digest[];
  /** The blobs that are Trees. The result references the files in them, too. */
  readonly trees: readonly Digest[];
  /** Roots of folders that are stored as Directory messages. The result references their descendants, too. */
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

/**
 * Refuses a result with an inlined file that does not match its digest: clients use inlined files unchecked.
 */
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

/** A result without outputs and logs. */
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
 * The part of a result that must be the same for every run of the same key: outputs and exit code. Logs and
 * times differ between correct runs, so they are left out.
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
