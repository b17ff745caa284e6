// Downloads everything that a result names into the local store: first its Trees, then their files.
import type { Digest } from '../../core/digest.ts';
import type { ActionResult } from '../../core/proto/generated/reapi.ts';
import { referencedContent } from '../../core/result.ts';
import { filesInTree } from '../../core/tree.ts';
import { readBlob } from '../../store/shared/read-blob.ts';
import type { Blobs } from '../../store/store.ts';
import type { Report } from '../terminal/events.ts';
import type { Remote } from './remote.ts';
import { download } from './transfer.ts';

/**
 * `commandMs`: the duration of the command that a hit saves, if known. `judge` runs when the Trees are stored
 * and nothing else is fetched; it may throw.
 */
export async function fetchContent(
  result: ActionResult,
  blobs: Blobs,
  remote: Remote,
  report: Report,
  judge: () => Promise<unknown>,
  commandMs?: number,
): Promise<void> {
  const { blobs: named, trees } = referencedContent(result);
  await download(trees, blobs, remote, report, commandMs);
  await judge();
  const leaves: Digest[] = [];
  for (const tree of trees) leaves.push(...filesInTree(await readBlob(tree.hash, blobs)));
  await download([...named, ...leaves], blobs, remote, report, commandMs);
}
