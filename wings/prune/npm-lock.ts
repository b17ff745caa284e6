// The part of a package-lock.json that some packages of a workspace need.
// Guarantee: every entry stays where it was, with its version and its hash, so npm installs what it would install in the whole
// workspace. A dependency that the file lacks is refused.
import { parseRelPath, type RelPath } from '../../core/path.ts';
import { badLock, entriesOf, isRecord, type LockPart, type LockQuestion } from './lock-part.ts';

export const NPM_LOCKS = ['npm-shrinkwrap.json', 'package-lock.json'] as const;

const MODULES = 'node_modules';

export function pruneNpmLock(name: string, { text, wanted, packages }: LockQuestion): LockPart {
  const lock = parsed(name, text);
  const entries = entriesOf(lock.packages);
  if (!entries.has(''))
    throw badLock(name, 'it has no "packages": npm 7 or newer writes them, with npm install');
  const walk = new Walk(name, entries, packages);
  walk.start([...wanted]);
  const { kept, folders } = walk;
  for (const [location, entry] of entries) {
    const target = linkTarget(entry);
    if (target !== undefined && folders.has(folderOf(name, target, packages))) kept.add(location);
    if (isRecord(entry) && entry.inBundle === true && isBelowKept(location, kept)) kept.add(location);
  }
  const { dependencies: _legacy, ...rest } = lock;
  const part = {
    ...rest,
    lockfileVersion: 3,
    packages: Object.fromEntries([...entries].filter(([location]) => kept.has(location))),
  };
  const isInstalled = (location: string) => location.includes(MODULES) && !linkTarget(entries.get(location));
  return {
    text: `${JSON.stringify(part, null, 2)}\n`,
    folders,
    files: [...walk.files],
    kept: [...kept].filter(isInstalled).length,
    all: [...entries.keys()].filter(isInstalled).length,
  };
}

function parsed(name: string, text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    if (isRecord(value)) return value;
  } catch {}
  throw badLock(name, 'this is no JSON object');
}

/** Follows dependencies from folder to folder, as Node looks for a package. */
class Walk {
  readonly kept = new Set<string>();
  readonly folders = new Set<RelPath>();
  readonly files = new Set<RelPath>();
  readonly #name: string;
  readonly #entries: ReadonlyMap<string, unknown>;
  readonly #packages: ReadonlySet<RelPath>;
  readonly #left: string[] = [];

  constructor(name: string, entries: ReadonlyMap<string, unknown>, packages: ReadonlySet<RelPath>) {
    this.#name = name;
    this.#entries = entries;
    this.#packages = packages;
  }

  start(folders: readonly RelPath[]): void {
    this.#keep('');
    for (const folder of folders) this.#keepFolder(folder);
    for (let at = this.#left.pop(); at !== undefined; at = this.#left.pop()) this.#follow(at);
  }

  #keep(location: string): void {
    if (this.kept.has(location)) return;
    this.kept.add(location);
    this.#left.push(location);
  }

  #keepFolder(folder: RelPath): void {
    if (!this.#entries.has(folder))
      throw badLock(this.#name, `it lacks the package ${folder}: run npm install`);
    if (folder !== '') this.folders.add(folder);
    this.#keep(folder);
  }

  #follow(location: string): void {
    const entry = this.#entries.get(location);
    if (!isRecord(entry)) return;
    const isOfWorkspace = location === '' || this.folders.has(parseRelPath(location));
    const optional = new Set([
      ...entriesOf(entry.optionalDependencies).keys(),
      ...entriesOf(entry.peerDependencies).keys(),
    ]);
    const needed = [
      ...entriesOf(entry.dependencies).keys(),
      ...(isOfWorkspace ? entriesOf(entry.devDependencies).keys() : []),
    ];
    for (const dependency of new Set([...needed, ...optional])) {
      const found = this.#find(location, dependency);
      if (found !== undefined) this.#take(found);
      else if (!optional.has(dependency))
        throw badLock(
          this.#name,
          `it lacks ${dependency}, which ${location || 'the root'} needs: run npm install`,
        );
    }
  }

  #take(location: string): void {
    const entry = this.#entries.get(location);
    this.#keep(location);
    const target = linkTarget(entry);
    if (target !== undefined) this.#keepFolder(folderOf(this.#name, target, this.#packages));
    const resolved = isRecord(entry) ? entry.resolved : undefined;
    if (typeof resolved === 'string' && resolved.startsWith('file:'))
      this.files.add(parseRelPath(resolved.slice('file:'.length)));
  }

  #find(location: string, dependency: string): string | undefined {
    for (let at = location; ; at = at.slice(0, Math.max(at.lastIndexOf('/'), 0))) {
      const isModules = at === MODULES || at.endsWith(`/${MODULES}`);
      const found = `${at === '' ? '' : `${at}/`}${MODULES}/${dependency}`;
      if (!isModules && this.#entries.has(found)) return found;
      if (at === '') return undefined;
    }
  }
}

function linkTarget(entry: unknown): string | undefined {
  if (!isRecord(entry) || entry.link !== true) return undefined;
  return typeof entry.resolved === 'string' ? entry.resolved : '';
}

function folderOf(name: string, target: string, packages: ReadonlySet<RelPath>): RelPath {
  const folder = [...packages].find((one) => one === target);
  if (folder !== undefined) return folder;
  throw badLock(
    name,
    `it links to the folder ${JSON.stringify(target)}, which is no package of this workspace`,
  );
}

function isBelowKept(location: string, kept: ReadonlySet<string>): boolean {
  const at = location.lastIndexOf(`/${MODULES}/`);
  return at > 0 && kept.has(location.slice(0, at));
}
