// Finds the history entry that a command line argument means: a key, a prefix of a key, or the name of a
// step.
// Without an argument it is the last action that ran in this workspace.
import { isAbsolute, relative } from 'node:path';
import { AssayError } from '../../core/errors.ts';
import type { HistoryEntry } from './history.ts';

/** `entries`: newest first. `folder`: the current working directory. */
export function findEntry(
  wanted: string | undefined,
  entries: readonly HistoryEntry[],
  folder: string,
): HistoryEntry {
  const here = entries.filter(({ workspace }) => isBelow(folder, workspace));
  if (wanted === undefined) return here[0] ?? nothing(`nothing was run in ${folder} with this store`);
  const byName = [...here, ...entries].find(({ name }) => name === wanted.replace(/^\/\/#/, ''));
  if (byName) return byName;
  const byKey = entries.filter(({ key }) => key.startsWith(wanted));
  const keys = new Set(byKey.map(({ key }) => key));
  if (!/^[0-9a-f]{4,64}$/.test(wanted) || !byKey[0])
    return nothing(`no step or key ${JSON.stringify(wanted)} was run with this store`);
  if (keys.size > 1) return nothing(`${wanted} is the beginning of ${keys.size} keys: give more of it`);
  return byKey[0];
}

function isBelow(folder: string, workspace: string): boolean {
  const way = relative(workspace, folder);
  return !isAbsolute(way) && way !== '..' && !way.startsWith('../');
}

function nothing(detail: string): never {
  throw new AssayError('ASSAY_NO_HISTORY', detail);
}
