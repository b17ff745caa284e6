// A folder as text, for comparing two of them: every path with its kind, executable bit, and content or
// target.
import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

export function describeTree(folder: string, below = ''): string[] {
  return readdirSync(join(folder, below))
    .sort()
    .flatMap((name) => {
      const path = join(below, name);
      const stats = lstatSync(join(folder, path));
      if (stats.isDirectory()) return [`${path}/`, ...describeTree(folder, path)];
      if (stats.isSymbolicLink()) return [`${path} -> ${readlinkSync(join(folder, path))}`];
      const hash = createHash('sha256')
        .update(readFileSync(join(folder, path)))
        .digest('hex');
      return [`${path} ${stats.mode & 0o111 ? 'x' : '-'} ${hash}`];
    });
}
