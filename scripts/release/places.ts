// Where a release is made: paths of the checkout that its modules share.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '../..');
export const DIST = join(ROOT, 'dist');
export const RELEASE = join(DIST, 'release');

/** What is made or downloaded for the other architecture, and can be used again. */
export const PARTS = join(DIST, 'parts');

export const PACKAGING = join(ROOT, 'packaging');

interface Project {
  readonly version: string;
  readonly description: string;
  readonly license: string;
  readonly exports: Readonly<Record<string, unknown>>;
  readonly dependencies: Readonly<Record<string, string>>;
}

export const PROJECT: Project = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
