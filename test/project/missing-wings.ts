// The wings that were taken away from this checkout: pages of the trunk may still name their files.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './sources.ts';

/** The table of wings/README.md. It keeps the wings that were taken away. */
const LISTED = new Set(
  [...readFileSync(join(ROOT, 'wings/README.md'), 'utf8').matchAll(/^\| \[([a-z-]+)\]/gm)].map(
    ([, name]) => name,
  ),
);

export function isSomeWingMissing(): boolean {
  return [...LISTED].some((name) => !existsSync(join(ROOT, 'wings', name ?? '')));
}

export function isOfMissingWing(path: string): boolean {
  const [room, name = ''] = path.split('/');
  return room === 'wings' && LISTED.has(name) && !existsSync(join(ROOT, 'wings', name));
}
