// The times of an output's files, folders and links.
import { lstatSync, lutimesSync } from 'node:fs';
import { join, type RelPath, toSystemPath } from '../../core/path.ts';
import type { Output } from './outputs.ts';

/**
 * Of what an earlier build left and a later one is given: older than any source, so that a tool that goes by times makes it
 * again rather than trusts it (docs/decisions/0195). The first day that a zip file can name in every time zone.
 */
export const OLD_TIME = new Date(Date.UTC(1980, 0, 2));

/** `path`: where it lies below `root`. */
export function setTimes(output: Output, root: string, path: RelPath, time: Date): void {
  for (const place of pathsOf(output, root, path)) lutimesSync(place, time, time);
}

/** What still has the time `old` gets the time `now`. */
export function renewTimes(output: Output, root: string, path: RelPath, old: Date, now: Date): void {
  for (const place of pathsOf(output, root, path)) {
    if (lstatSync(place).mtimeMs === old.getTime()) lutimesSync(place, now, now);
  }
}

function pathsOf(output: Output, root: string, path: RelPath): (string | Buffer)[] {
  const inside = output.kind === 'directory' ? output.entries : [];
  return [path, ...inside.map((entry) => join(path, entry.path))].map((place) => toSystemPath(root, place));
}
