// Resolves the paths and patterns of an assay.json to paths from the workspace's root. A path is relative to
// its package's folder, or to the root with "//" in front. ".." cannot leave the workspace. A "!" in front of
// a pattern is kept.

import type { Located } from '../../core/config/document.ts';
import { AssayError } from '../../core/errors.ts';
import { type RelPath, ROOT, relPathFromUser } from '../../core/path.ts';

export function patternFrom(folder: RelPath, { text, refuse }: Located): string {
  const negated = text.startsWith('!');
  const pattern = negated ? text.slice(1) : text;
  if (pattern === '') throw refuse('an empty pattern matches nothing');
  return (negated ? '!' : '') + fromRoot(folder, pattern, refuse);
}

export function pathFrom(folder: RelPath, { text, refuse }: Located): RelPath {
  try {
    return relPathFromUser(fromRoot(folder, text, refuse));
  } catch (error) {
    throw error instanceof AssayError && error.code === 'ASSAY_BAD_PATH' ? refuse(error.detail) : error;
  }
}

function fromRoot(folder: RelPath, text: string, refuse: Located['refuse']): string {
  if (text.startsWith('//')) return text.slice(2) || '.';
  if (text.startsWith('/'))
    throw refuse(`${JSON.stringify(text)} is absolute; "//" stands for the workspace’s root`);
  const above = folder === ROOT ? [] : folder.split('/');
  const parts = text.split('/');
  while (parts[0] === '..' || parts[0] === '.') {
    if (parts.shift() === '.') continue;
    if (above.pop() === undefined) throw refuse(`${JSON.stringify(text)} leaves the workspace`);
  }
  if (parts.includes('..')) throw refuse(`".." is allowed only at the beginning of ${JSON.stringify(text)}`);
  return [...above, ...parts.filter((part) => part !== '')].join('/') || '.';
}
