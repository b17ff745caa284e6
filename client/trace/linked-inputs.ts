// A trace in which the inputs are plain files of the workspace, although links led the command to them.
// The key has the content of these files. Everything else that the command reached through links keeps its
// real path and is judged as undeclared.

import type { Access, PathAccess, TraceReport } from '../../hermeticity/trace/access.ts';
import { type AbsPath, absPath, inside } from '../../system/paths/absolute-path.ts';
import type { InputLinks } from '../inputs/input-links.ts';

export function withoutInputLinks(
  report: TraceReport,
  { links, paths }: InputLinks,
  workspace: string,
): TraceReport {
  const root = absPath(workspace);
  const named = (real: AbsPath): AbsPath => {
    const path = paths.get(real);
    return path === undefined ? real : inside(root, path);
  };
  /* Its stamp is still that of the real path. */
  const renamed = (access: PathAccess): PathAccess => {
    const path = named(access.path);
    if (path === access.path) return access;
    const { stamp } = access;
    return { ...access, path, ...(stamp && { stamp: { ...stamp, at: access.path } }) };
  };
  const accesses = report.accesses.flatMap((access): readonly Access[] => {
    switch (access.kind) {
      case 'followed':
        return links.has(access.path) ? [] : [access];
      /* A listing shows more than the inputs, and an absent path is none. */
      case 'list':
      case 'absent':
      case 'connect':
      case 'bind':
      case 'io_uring':
      case 'asked':
        return [access];
      case 'rename':
      case 'hardlink':
        return [{ ...access, path: named(access.path), to: named(access.to) }];
      case 'symlink':
        return [{ ...access, path: named(access.path) }];
      default:
        return [renamed(access)];
    }
  });
  return { ...report, accesses };
}
