// Downloads everything that a result names into the local store: first its Trees, then their files.
// Trees that came inlined with the result are read from memory, so everything enters the store at once and
// shares a commit.
import { type Digest, DigestSet, digestOf, type Hash } from '../../core/digest.ts';
import type { ActionResult } from '../../core/proto/generated/reapi.ts';
import { referencedContent } from '../../core/result.ts';
import { filesInTree } from '../../core/tree.ts';
import { readBlob } from '../../store/shared/read-blob.ts';
import type { Blobs } from '../../store/store.ts';
import type { Report } from '../terminal/events.ts';
import type { Remote } from './remote.ts';
import { download } from './transfer.ts';

export type ReadTree = (digest: Digest) => Promise<Uint8Array>;

/**
 * `commandMs`: the duration of the command that a hit saves, if known. `judge` runs when the Trees can be read
 * and nothing else is fetched; it may throw.
 */
export async function fetchContent(
  result: ActionResult,
  blobs: Blobs,
  remote: Remote,
  report: Report,
  judge: (readTree: ReadTree) => Promise<unknown>,
  commandMs?: number,
): Promise<void> {
  const { blobs: named, trees } = referencedContent(result);
  const inlined = inlinedTrees(trees, remote);
  if (!inlined) await download(trees, blobs, remote, report, commandMs);
  const readTree: ReadTree = async ({ hash }) => inlined?.get(hash) ?? readBlob(hash, blobs);
  await judge(readTree);
  const wanted = new DigestSet();
  for (const digest of named) wanted.add(digest);
  for (const tree of trees) for (const leaf of filesInTree(await readTree(tree))) wanted.add(leaf);
  await download(wanted.values(), blobs, remote, report, commandMs);
}

/** Undefined unless all of them came inlined, with the right bytes. */
function inlinedTrees(trees: readonly Digest[], remote: Remote): ReadonlyMap<Hash, Buffer> | undefined {
  const found = new Map<Hash, Buffer>();
  for (const { hash, size } of trees) {
    const bytes = remote.inlinedBlob(hash);
    if (bytes?.length !== size || digestOf(bytes).hash !== hash) return undefined;
    found.set(hash, bytes);
  }
  return found;
}
