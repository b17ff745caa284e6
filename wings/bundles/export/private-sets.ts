// Finds the path sets of a local store that must not leave this machine: they reveal the content of files that may be private.
// Guarantee: what `assay run` would not have sent to a remote is not in a bundle either. An action that ran in a workspace
// which the history no longer knows is judged more strictly, by the names of its files.
import { historyOf } from '../../../client/history/history.ts';
import { PrivatePaths } from '../../../client/path-sets/private-paths.ts';
import { Roots } from '../../../client/path-sets/roots.ts';
import { looksSecret } from '../../../client/path-sets/secret-names.ts';
import type { Hash } from '../../../core/digest.ts';
import { ROOT } from '../../../core/path.ts';
import type { PathSet } from '../../../core/path-set.ts';
import { absPath } from '../../../system/paths/absolute-path.ts';

export type IsPrivate = (action: Hash, set: PathSet) => boolean;

/** `here`: stands for the workspace of actions that the history does not know. */
export function privateSets(storeFolder: string, here: string): IsPrivate {
  const workspaces = new Map(
    historyOf(storeFolder)
      .entries()
      .map(({ key, workspace }) => [key, workspace]),
  );
  const judges = new Map<string, PrivatePaths>();
  const judgeOf = (workspace: string) => {
    const known = judges.get(workspace);
    if (known) return known;
    const request = { workspace, workingDirectory: ROOT, command: ['true'], outputs: [] } as const;
    const judge = new PrivatePaths(absPath(workspace), new Roots({ request, tools: [], environment: [] }));
    judges.set(workspace, judge);
    return judge;
  };
  return (action, set) => {
    const workspace = workspaces.get(action);
    if (workspace === undefined && set.some(({ path }) => looksSecret(path, false))) return true;
    return judgeOf(workspace ?? here).whyLocal(set) !== undefined;
  };
}
