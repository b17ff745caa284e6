// The workspace of `assay prune`: its root is the nearest folder with a lock file. It needs no assay.json.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { listPackages, type Package } from '../../client/config/packages.ts';
import { StatRecorder } from '../../client/files/stat-recorder.ts';
import { suggestion, usage } from '../../core/cli/command.ts';
import type { AssayError } from '../../core/errors.ts';
import { isWithin, parseRelPath, type RelPath } from '../../core/path.ts';
import { PRUNE } from './limits.ts';
import { badLock, type LockPart } from './lock-part.ts';
import { NPM_LOCKS, pruneNpmLock } from './npm-lock.ts';
import { PNPM_LOCK, prunePnpmLock } from './pnpm-lock.ts';

const OTHER_LOCKS = ['yarn.lock', 'bun.lock', 'bun.lockb', 'deno.lock'];
const ALL_LOCKS = [PNPM_LOCK, ...NPM_LOCKS, ...OTHER_LOCKS];

interface PrunableWorkspace {
  readonly root: string;
  readonly lockFile: string;
  readonly observations: StatRecorder;
  readonly packages: readonly Package[];
}

/** `out`: the folder that is written. Copies of packages in it are none of the workspace. */
export async function openPrunable(folder: string, out: string): Promise<PrunableWorkspace> {
  for (let root = folder; ; root = dirname(root)) {
    const locks = ALL_LOCKS.filter((name) => existsSync(join(root, name)));
    if (locks.length > 0) {
      const observations = new StatRecorder(root);
      const written = outInside(root, out);
      const packages = (await listPackages(observations)).filter(
        (one) => written === undefined || !isWithin(one.folder, written),
      );
      return { root, lockFile: onlyLock(locks), observations, packages };
    }
    if (dirname(root) === root)
      throw usage(`there is no lock file in ${folder} or above it: ${PNPM_LOCK} or package-lock.json`);
  }
}

export function outInside(root: string, out: string): RelPath | undefined {
  const path = relative(root, out);
  return path === '' || path === '..' || path.startsWith('../') ? undefined : parseRelPath(path);
}

/** npm itself prefers npm-shrinkwrap.json. */
function onlyLock([first = '', ...more]: readonly string[]): string {
  const isNpm = [first, ...more].every((name) => NPM_LOCKS.some((one) => one === name));
  if (more.length > 0 && !isNpm)
    throw usage(
      `there are several lock files: ${[first, ...more].join(', ')}. Remove those that are not used`,
    );
  if (!OTHER_LOCKS.includes(first)) return first;
  throw usage(`assay prune knows the lock files of npm and pnpm, and not ${first}`);
}

/** By name or folder. */
export function packageNamed(name: string, packages: readonly Package[]): Package {
  const folder = name.replace(/^(\.\/)+|\/+$/g, '');
  const found = packages.filter((one) => one.folder !== '' && (one.name === name || one.folder === folder));
  const [first, ...others] = found;
  if (others.length > 0)
    throw usage(
      `several packages are called ${name}: name one of ${found.map((one) => one.folder).join(', ')}`,
    );
  if (first) return first;
  throw unknown(name, packages);
}

function unknown(name: string, packages: readonly Package[]): AssayError {
  const known = packages.flatMap((one) => (one.folder === '' ? [] : [one.name]));
  return usage(`there is no package ${JSON.stringify(name)} in this workspace${suggestion(name, known, '')}`);
}

/** The packages that the wanted ones need, and the lock file's part for all of them. */
export function partFor(
  { root, lockFile, packages }: PrunableWorkspace,
  wanted: readonly Package[],
): LockPart {
  const text = lockText(root, lockFile);
  const byName = new Map(packages.map((one) => [one.name, one.folder]));
  const folders = new Set(packages.flatMap(({ folder }) => (folder === '' ? [] : [folder])));
  let chosen: ReadonlySet<RelPath> = new Set(wanted.map(({ folder }) => folder));
  for (;;) {
    const question = { text, wanted: chosen, packages: folders };
    const part = lockFile === PNPM_LOCK ? prunePnpmLock(question) : pruneNpmLock(lockFile, question);
    const declared = packages
      .filter(({ folder }) => part.folders.has(folder))
      .flatMap(({ file }) => file.dependencies.flatMap((name) => byName.get(name.text) ?? []));
    const more = declared.filter((folder) => folder !== '' && !part.folders.has(folder));
    if (more.length === 0) return part;
    chosen = new Set([...part.folders, ...more]);
  }
}

function lockText(root: string, name: string): string {
  const file = join(root, name);
  const { size } = statSync(file);
  if (size > PRUNE.maxLockBytes)
    throw badLock(name, `it has ${size} bytes; the limit is ${PRUNE.maxLockBytes}`);
  return readFileSync(file, 'utf8');
}
