// Puts back what was set aside: everything that nothing new has replaced.
// A file that is in place stays, so a file that the command wrote wins over the earlier one.
import { lstatSync, readdirSync, renameSync } from 'node:fs';
import { childOf, nameFromBytes, type RelPath, ROOT, toSystemPath } from '../../core/path.ts';
import { withOpenParent } from './open-parent.ts';

/** A folder that exists again gets the earlier entries that it lacks. `from`: a path inside `aside`. */
export function putBack(workspace: string, path: RelPath, aside: string, from: RelPath = ROOT): void {
  const earlier = toSystemPath(aside, from);
  const stats = lstatSync(earlier, { throwIfNoEntry: false });
  if (!stats) return;
  const present = withOpenParent(workspace, path, (target) => {
    const found = lstatSync(target, { throwIfNoEntry: false });
    if (!found) renameSync(earlier, target);
    return found;
  });
  if (!present?.isDirectory() || !stats.isDirectory()) return;
  for (const name of readdirSync(earlier, { encoding: 'buffer' }).map(nameFromBytes))
    putBack(workspace, childOf(path, name), aside, childOf(from, name));
}
