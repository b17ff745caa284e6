// The files of a trace, each once, with every kind of access to it.

import type { TraceReport } from '../../hermeticity/trace/access.ts';
import { type AbsPath, absPath, displayPath, relativeIn } from '../../system/paths/absolute-path.ts';

export interface TouchedFile {
  /** As an audit shows paths. */
  readonly path: string;
  readonly isInWorkspace: boolean;
  /** read, write …, in order of first access. */
  readonly verbs: readonly string[];
}

/** Workspace files first; each part sorted. */
export function touchedFiles({ accesses }: TraceReport, workspace: string): TouchedFile[] {
  const root = absPath(workspace);
  const verbs = new Map<AbsPath, Set<string>>();
  const touch = (path: AbsPath, verb: string) => {
    const known = verbs.get(path);
    if (known) known.add(verb);
    else verbs.set(path, new Set([verb]));
  };
  for (const access of accesses) {
    if ('path' in access) touch(access.path, access.kind);
    if ('to' in access) touch(access.to, 'write');
  }
  const files = [...verbs].map(([path, done]) => ({
    path: displayPath(path, root),
    isInWorkspace: relativeIn(root, path) !== undefined,
    verbs: [...done],
  }));
  return files.sort(byPlace);
}

function byPlace(a: TouchedFile, b: TouchedFile): number {
  if (a.isInWorkspace !== b.isInWorkspace) return a.isInWorkspace ? -1 : 1;
  return a.path < b.path ? -1 : 1;
}
