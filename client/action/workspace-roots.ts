// The folders that may be a workspace's root: those with an assay.json, from the outermost to the nearest.
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { hasUtf8Path } from '../files/current-folder.ts';

export const CONFIG_FILE = 'assay.json';

export function foldersWithConfig(folder: string): string[] {
  const found: string[] = [];
  for (let at = hasUtf8Path(folder) ? realpathSync(folder) : folder; ; at = dirname(at)) {
    if (existsSync(join(at, CONFIG_FILE))) found.unshift(at);
    if (at === dirname(at)) return found;
  }
}
