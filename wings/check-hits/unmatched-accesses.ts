// The accesses of a run that a stored result neither declares nor has a fact for, in words.
// They are hints for a person who looks for the cause of a stale hit. Nothing is decided by them.

import { stateAndCheckpointPaths } from '../../client/action/request.ts';
import type { KeyedAction } from '../../client/inputs/keyed-action.ts';
import { LOADER_CACHE_FILE } from '../../client/path-sets/loader-cache.ts';
import {
  folderOfPattern,
  isPattern,
  matchesNamePattern,
  nameOfPattern,
  rootOfPattern,
} from '../../client/path-sets/name-patterns.ts';
import { isAbove, type RootedPath, Roots } from '../../client/path-sets/roots.ts';
import { ABSENT_STATE } from '../../client/path-sets/states.ts';
import type { Watched } from '../../client/trace/trace.ts';
import { LOADER_CACHE, MACHINE, type ObservedPath, type PathSet } from '../../core/path-set.ts';
import type { Access, PathAccess } from '../../hermeticity/trace/access.ts';
import {
  type AbsPath,
  absPath,
  displayPath,
  foldersAbove,
  inside,
  isAtOrBelow,
  parentFolder,
} from '../../system/paths/absolute-path.ts';
import { ASSAY_FOLDER } from '../../system/paths/assay-folder.ts';

const LOOKS: ReadonlySet<Access['kind']> = new Set([
  'read',
  'probe',
  'absent',
  'list',
  'exec',
  'followed',
  'entered',
]);

/** Each once, such as "read /dev/shm/x": first what may tell most, and of that first what is in the workspace. */
export function unmatchedAccesses(action: KeyedAction, set: PathSet, { report, folders }: Watched): string[] {
  const workspace = absPath(action.request.workspace);
  const known = new KnownPaths(action, set);
  const made = pathsMade(report.accesses);
  const isOwn = (path: AbsPath) => made.has(path) || isAtOrBelow(path, absPath(folders.root));
  const found = new Set<string>();
  for (const access of report.accesses) {
    if (access.kind === 'connect' && access.address.family === 'inet')
      found.add(`connect ${access.address.host}:${access.address.port}`);
    if (!isLook(access) || isOwn(access.path) || known.has(access)) continue;
    found.add(`${access.kind} ${displayPath(access.path, workspace)}`);
  }
  return [...found].sort((a, b) => rankOf(a) - rankOf(b));
}

/** Content tells more than names, and names more than whether a path is there. */
function rankOf(text: string): number {
  const [kind = '', path = ''] = text.split(' ');
  const byKind = ['read', 'connect'].includes(kind) ? 0 : ['list', 'exec'].includes(kind) ? 1 : 2;
  return 2 * byKind + Number(path.startsWith('/') || path.startsWith('..'));
}

function isLook(access: Access): access is PathAccess {
  return LOOKS.has(access.kind);
}

/** What the run itself wrote, moved or linked. */
export function pathsMade(accesses: readonly Access[]): Set<AbsPath> {
  const made = new Set<AbsPath>();
  for (const access of accesses) {
    if (access.kind === 'write' || access.kind === 'delete' || access.kind === 'symlink')
      made.add(access.path);
    if (access.kind === 'rename' || access.kind === 'hardlink') made.add(access.path).add(access.to);
  }
  return made;
}

/** What the key of an action and the facts of its stored result stand for. */
class KnownPaths {
  readonly #roots: Roots;
  readonly #paths = new Set<AbsPath>();
  readonly #listings = new Set<AbsPath>();
  readonly #absent = new Set<AbsPath>();
  readonly #patterns: { readonly folders: readonly AbsPath[]; readonly name: string }[] = [];
  /** The folders above a path that is known: they exist. */
  readonly #above = new Set<AbsPath>();
  readonly #own: readonly AbsPath[];

  constructor({ request, tools, inputs, environment }: KeyedAction, set: PathSet) {
    this.#roots = new Roots({ request, tools, environment, inputs });
    const workspace = absPath(request.workspace);
    for (const { path } of inputs.entries()) this.#add(inside(workspace, path));
    for (const { file, real } of tools.flatMap((tool) => [tool, ...tool.interpreters]))
      for (const name of [file, real]) this.#add(absPath(name));
    for (const seen of set) this.#addFact(seen);
    this.#add(workspace);
    const owned = [...request.outputs, ...stateAndCheckpointPaths(request)];
    this.#own = [...owned.map((path) => inside(workspace, path)), absPath(`${workspace}/${ASSAY_FOLDER}`)];
  }

  has({ kind, path }: PathAccess): boolean {
    if (this.#own.some((own) => isAtOrBelow(path, own) || isAtOrBelow(own, path))) return kind !== 'list';
    if (kind === 'list') return this.#listings.has(path);
    if (this.#paths.has(path) || this.#above.has(path)) return true;
    if (kind !== 'absent') return false;
    return [path, ...foldersAbove(path)].some((one) => this.#absent.has(one)) || this.#isLikeAPattern(path);
  }

  #isLikeAPattern(path: AbsPath): boolean {
    const folder = parentFolder(path);
    const last = path.slice(path.lastIndexOf('/') + 1);
    return this.#patterns.some(
      ({ folders, name }) => folders.includes(folder) && matchesNamePattern(last, name),
    );
  }

  #addFact(seen: ObservedPath): void {
    const { root, path, names, state } = seen;
    if (root === LOADER_CACHE) this.#add(LOADER_CACHE_FILE);
    else if (root === MACHINE) this.#addMachine(path);
    else if (isPattern(root)) {
      const folders = this.#places({ root: rootOfPattern(root), path: folderOfPattern(path) });
      this.#patterns.push({ folders, name: nameOfPattern(path) });
    } else
      for (const place of this.#places(seen)) {
        this.#add(place);
        if (names) this.#listings.add(place);
        if (state === ABSENT_STATE) this.#absent.add(place);
      }
  }

  /** A property of the machine that is a kernel file; the name of a listing ends with "/". */
  #addMachine(name: string): void {
    if (!name.startsWith('/')) return;
    const path = absPath(name.replace(/\/$/, ''));
    this.#add(path);
    if (name.endsWith('/')) this.#listings.add(path);
  }

  #places(rooted: RootedPath): AbsPath[] {
    if (isAbove(rooted.root)) return this.#roots.pathsAbove(rooted);
    const path = this.#roots.resolve(rooted);
    return path === undefined ? [] : [path];
  }

  #add(path: AbsPath): void {
    this.#paths.add(path);
    for (const folder of foldersAbove(path)) {
      if (this.#above.has(folder)) break;
      this.#above.add(folder);
    }
  }
}
