// The wings that were taken away from this checkout: pages of the trunk may still name their files.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandsIn } from '../../scripts/wings-list.ts';
import { ROOT } from './sources.ts';

/** The list of wings is read as text: an import of it would reach all that the wings import. */
const LISTED = new Set(commandsIn(readFileSync(join(ROOT, 'bin/wings.ts'), 'utf8')).map(({ wing }) => wing));

export function isOfMissingWing(path: string): boolean {
  const [room, name = ''] = path.split('/');
  return room === 'wings' && LISTED.has(name) && !existsSync(join(ROOT, 'wings', name));
}
