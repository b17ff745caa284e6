// Where a symbolic link points, computed from its text alone; nothing is read from disk.
import { nameToBytes, parentOf, type RelPath } from '../../core/path.ts';

/** The link's target as a path of the workspace; undefined if the target is outside it. */
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
 * True if the target is absolute or climbs out of the workspace: in another checkout it would mean something
 * else.
 * A target with `..` after a name counts too, because that name may itself be a link.
 */
export function leavesWorkspace(link: RelPath, target: string): boolean {
  const text = nameToBytes(target).toString('latin1');
  if (text.startsWith('/')) return true;
  const parts = text.split('/').filter((part) => part !== '' && part !== '.');
  const climbs = parts.filter((part) => part === '..').length;
  if (parts.slice(0, climbs).some((part) => part !== '..')) return true;
  return climbs > (parentOf(link) === '' ? 0 : parentOf(link).split('/').length);
}
