// npm packages of another architecture, at the versions of package-lock.json. Guarantee: a package whose bytes have not
// the digest of the lock file is refused. Each is downloaded once, into dist/parts.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { PARTS, ROOT } from './places.ts';

export interface LockedPackage {
  readonly version: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

export const LOCKED: Readonly<Record<string, LockedPackage>> = JSON.parse(
  readFileSync(join(ROOT, 'package-lock.json'), 'utf8'),
).packages;

export function locked(name: string): LockedPackage {
  const found = LOCKED[`node_modules/${name}`];
  if (!found) throw new Error(`package-lock.json has no package ${name}`);
  return found;
}

/** The folder of the unpacked package. */
export function fetchLocked(name: string): string {
  const { version, integrity = '' } = locked(name);
  const folder = join(PARTS, `${name.replaceAll('/', '+')}-${version}`);
  if (existsSync(folder)) return folder;
  const staged = `${folder}.partial`;
  rmSync(staged, { recursive: true, force: true });
  mkdirSync(staged, { recursive: true });
  const pack = ['pack', `${name}@${version}`, '--silent', '--ignore-scripts'];
  execFileSync('npm', pack, { cwd: staged, stdio: ['ignore', 'ignore', 'inherit'] });
  const [archive = ''] = readdirSync(staged);
  const digest = createHash('sha512')
    .update(readFileSync(join(staged, archive)))
    .digest('base64');
  if (integrity !== `sha512-${digest}`)
    throw new Error(`${name}@${version} has not the digest that package-lock.json has for it`);
  execFileSync('tar', ['--extract', `--file=${archive}`, '--strip-components=1'], { cwd: staged });
  rmSync(join(staged, archive));
  renameSync(staged, folder);
  return folder;
}
