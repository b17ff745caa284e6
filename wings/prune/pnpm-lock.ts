// The part of a pnpm-lock.yaml (version 9) that some packages of a workspace need.
// Guarantee: every entry keeps its text, so pnpm installs what it would install in the whole workspace. A dependency that the
// file lacks, or that lies in a folder which is no package of the workspace, is refused.
import { type Document, isMap, parseDocument } from 'yaml';
import { messageOf } from '../../core/errors.ts';
import { parseRelPath, type RelPath, resolveFrom } from '../../core/path.ts';
import { badLock, entriesOf, isRecord, type LockPart, type LockQuestion } from './lock-part.ts';

export const PNPM_LOCK = 'pnpm-lock.yaml';

const VERSION = '9.0';
const ROOT_IMPORTER = '.';
const OF_IMPORTER = ['dependencies', 'devDependencies', 'optionalDependencies'];
const OF_SNAPSHOT = ['dependencies', 'optionalDependencies'];

export function prunePnpmLock({ text, wanted, packages }: LockQuestion): LockPart {
  const { document, lock } = parsed(text);
  if (!isRecord(lock) || lock.lockfileVersion !== VERSION) {
    const version = isRecord(lock) ? String(lock.lockfileVersion) : 'none';
    throw badLock(PNPM_LOCK, `its version is ${version}; ${VERSION} is known, of pnpm 9 and newer`);
  }
  const walk = new Walk(lock, packages);
  walk.start([...wanted]);
  const kept = new Set([...walk.snapshots].map(withoutPeers));
  keepOnly(document, 'importers', (name) => name === ROOT_IMPORTER || walk.folders.has(name as RelPath));
  keepOnly(document, 'packages', (name) => kept.has(name));
  keepOnly(document, 'snapshots', (name) => walk.snapshots.has(name));
  return {
    text: document.toString({ lineWidth: 0, flowCollectionPadding: false }),
    folders: walk.folders,
    files: patchesOf(lock),
    kept: kept.size,
    all: entriesOf(lock.packages).size,
  };
}

/** A lock file has no aliases: they could unfold to any size. */
function parsed(text: string): { readonly document: Document; readonly lock: unknown } {
  try {
    const document = parseDocument(text, { logLevel: 'silent' });
    const [error] = document.errors;
    if (error) throw error;
    return { document, lock: document.toJS({ maxAliasCount: 0 }) };
  } catch (error) {
    throw badLock(PNPM_LOCK, messageOf(error).split('\n')[0] ?? '');
  }
}

function keepOnly(document: Document, field: string, isKept: (name: string) => boolean): void {
  const map = document.get(field);
  if (!isMap(map)) return;
  map.items = map.items.filter(({ key }) => isKept(String(key)));
}

/** pnpm refuses a lock file that has other patches than pnpm-workspace.yaml, so all of them stay. */
function patchesOf(lock: Readonly<Record<string, unknown>>): RelPath[] {
  return [...entriesOf(lock.patchedDependencies).values()].flatMap((patch) =>
    isRecord(patch) && typeof patch.path === 'string' ? [parseRelPath(patch.path)] : [],
  );
}

/** "name@1.0.0(peer@2.0.0)" has the package "name@1.0.0". */
function withoutPeers(snapshot: string): string {
  const at = snapshot.indexOf('(');
  return at === -1 ? snapshot : snapshot.slice(0, at);
}

class Walk {
  readonly folders = new Set<RelPath>();
  readonly snapshots = new Set<string>();
  readonly #importers: ReadonlyMap<string, unknown>;
  readonly #snapshots: ReadonlyMap<string, unknown>;
  readonly #packages: ReadonlySet<RelPath>;
  readonly #leftFolders: RelPath[] = [parseRelPath('')];
  readonly #leftSnapshots: string[] = [];

  constructor(lock: Readonly<Record<string, unknown>>, packages: ReadonlySet<RelPath>) {
    this.#importers = entriesOf(lock.importers);
    this.#snapshots = entriesOf(lock.snapshots);
    this.#packages = packages;
  }

  start(folders: readonly RelPath[]): void {
    for (const folder of folders) this.#keepFolder(folder);
    for (let at = this.#leftFolders.pop(); at !== undefined; at = this.#leftFolders.pop()) this.#importer(at);
    for (let at = this.#leftSnapshots.pop(); at !== undefined; at = this.#leftSnapshots.pop())
      this.#snapshot(at);
  }

  #keepFolder(folder: RelPath): void {
    if (folder === '' || this.folders.has(folder)) return;
    this.folders.add(folder);
    this.#leftFolders.push(folder);
  }

  #importer(folder: RelPath): void {
    const importer = this.#importers.get(folder || ROOT_IMPORTER);
    if (!isRecord(importer))
      throw badLock(PNPM_LOCK, `it lacks the package ${folder || 'of the root'}: run pnpm install`);
    for (const field of OF_IMPORTER)
      for (const [name, dependency] of entriesOf(importer[field])) {
        const version = isRecord(dependency) ? dependency.version : undefined;
        this.#take(folder, name, version, field === 'optionalDependencies');
      }
  }

  #snapshot(key: string): void {
    const snapshot = this.#snapshots.get(key);
    if (!isRecord(snapshot)) return;
    for (const field of OF_SNAPSHOT)
      for (const [name, version] of entriesOf(snapshot[field]))
        this.#take(undefined, name, version, field === 'optionalDependencies');
  }

  #take(folder: RelPath | undefined, name: string, version: unknown, isOptional: boolean): void {
    if (typeof version !== 'string') throw badLock(PNPM_LOCK, `it has no version of ${name}`);
    if (version.startsWith('link:')) {
      this.#link(folder, name, version.slice('link:'.length));
      return;
    }
    if (version.includes('file:'))
      throw badLock(
        PNPM_LOCK,
        `${name} is installed from ${withoutPeers(version)}, which cannot be taken along`,
      );
    const key = [`${name}@${version}`, version].find((one) => this.#snapshots.has(one));
    if (key === undefined && !isOptional)
      throw badLock(PNPM_LOCK, `it lacks ${name}@${version}: run pnpm install`);
    if (key === undefined || this.snapshots.has(key)) return;
    this.snapshots.add(key);
    this.#leftSnapshots.push(key);
  }

  /** Snapshots name folders from the root. */
  #link(from: RelPath | undefined, name: string, target: string): void {
    const folder = resolveFrom(from ?? parseRelPath(''), target);
    if (folder !== '' && !this.#packages.has(folder))
      throw badLock(
        PNPM_LOCK,
        `${name} links to the folder ${JSON.stringify(folder)}, which is no package of this workspace`,
      );
    this.#keepFolder(folder);
  }
}
