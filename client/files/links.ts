// Where a symbolic link leads, judged by its text alone.
import { nameToBytes, parentOf, type RelPath } from '../../core/path.ts';

/** Where a link leads inside the workspace, or undefined if it leads out of it. */
export function targetInWorkspace(link: RelPath, target: string): RelPath | undefined {
  if (leavesWorkspace(link, target)) return undefined;
  const parts = parentOf(link) === '' ? [] : parentOf(link).split('/');
  for (const part of target.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return parts.join('/') as RelPath;
}

/**
 * True when the link's target is absolute or climbs out of the workspace: such a link means something else elsewhere. A
 * target that climbs after it has descended counts too: what it descends through may itself be a link.
 */
export function leavesWorkspace(link: RelPath, target: string): boolean {
  const text = nameToBytes(target).toString('latin1');
  if (text.startsWith('/')) return true;
  const parts = text.split('/').filter((part) => part !== '' && part !== '.');
  const climbs = parts.filter((part) => part === '..').length;
  if (parts.slice(0, climbs).some((part) => part !== '..')) return true;
  return climbs > (parentOf(link) === '' ? 0 : parentOf(link).split('/').length);
}
