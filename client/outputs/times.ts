// Sets the mtimes of the files, folders and links of an output.
import { lstatSync, lutimesSync } from 'node:fs';
import { join, type RelPath, toSystemPath } from '../../core/path.ts';
import type { Output } from './outputs.ts';

/**
 * The mtime of restored state: older than any source, so that a tool that compares times makes its outputs
 * again (docs/decisions/0195). It is the first day that a zip file can represent in every time zone.
 */
export const OLD_TIME = new Date(Date.UTC(1980, 0, 2));

/** `path`: relative to `root`. */
export function setTimes(output: Output, root: string, path: RelPath, time: Date): void {
  for (const place of pathsOf(output, root, path)) lutimesSync(place, time, time);
}

/** Sets the time `now` on everything that still has the time `old`. */
export function renewTimes(output: Output, root: string, path: RelPath, old: Date, now: Date): void {
  for (const place of pathsOf(output, root, path)) {
    if (lstatSync(place).mtimeMs === old.getTime()) lutimesSync(place, now, now);
  }
}

function pathsOf(output: Output, root: string, path: RelPath): (string | Buffer)[] {
  const inside = output.kind === 'directory' ? output.entries : [];
  return [path, ...inside.map((entry) => join(path, entry.path))].map((place) => toSystemPath(root, place));
}
