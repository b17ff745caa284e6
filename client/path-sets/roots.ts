// The roots that the paths of a path set are relative to: the workspace, the tools, installed software in the
// caller's home, the file system.
// A rooted path means the same in another checkout, for a tool that is installed in another folder, and for
// another user.
import type { Stats } from 'node:fs';
import { parseRelPath } from '../../core/path.ts';
import { LOADER_CACHE, MACHINE, type ObservedPath } from '../../core/path-set.ts';
import { DEFAULT_POLICY } from '../../hermeticity/verdict/policy.ts';
import {
  type AbsPath,
  absPath,
  displayPath,
  foldersAbove,
  inside,
  isAtOrBelow,
  parentFolder,
  relativeIn,
} from '../../system/paths/absolute-path.ts';
import { installationOf } from '../../system/paths/installation.ts';
import { searchPathOf } from '../action/environment.ts';
import type { CacheOwner } from '../action/owned-caches.ts';
import type { Inputs } from '../inputs/inputs.ts';
import type { KeyedAction } from '../inputs/keyed-action.ts';
import { homeFolder } from '../local-store/store-folder.ts';
import type { Tool } from '../tools/tools.ts';
import { Homes } from './homes.ts';
import { LOADER_CACHE_FILE, RENAMED } from './loader-cache.ts';
import { propertyText } from './machine.ts';
import { isPattern, rootOfPattern } from './name-patterns.ts';
import type { SystemFileMemo } from './system-file-memo.ts';

export const WORKSPACE = 'workspace';
const TOOL = 'tool:';
/**
 * Prefix of a root: the source tree that this link of the workspace leads to (inputs/input-links.ts).
 */
const LINKED = 'linked:';
/** Prefix of a root: every folder above it, up to "/". For names that a command searched there. */
const ABOVE = 'above:';
/**
 * Prefix of a root: a folder of installed software in the caller's home (homes.ts), wherever that home is.
 */
const HOME = 'home:';

export function isAbove(root: string): boolean {
  return root.startsWith(ABOVE);
}

/** The part of an action that determines its roots. */
export interface ActionPaths {
  readonly request: CacheOwner;
  readonly tools: readonly Tool[];
  readonly environment: KeyedAction['environment'];
  readonly inputs?: Pick<Inputs, 'links'>;
}

export type RootedPath = Pick<ObservedPath, 'root' | 'path'>;

export class Roots {
  readonly #workspace: AbsPath;
  readonly #tools: readonly Tool[];
  readonly #searchPath: readonly AbsPath[];
  readonly #inputs: ActionPaths['inputs'];
  readonly #systemFiles: SystemFileMemo | undefined;
  #known: ReadonlyMap<string, AbsPath> | undefined;
  #homes: Homes | undefined;
  #toolFiles: ReadonlySet<string> | undefined;

  /** `systemFiles`: knows the homes from an earlier lookup of this process. */
  constructor({ request, tools, environment, inputs }: ActionPaths, systemFiles?: SystemFileMemo) {
    this.#systemFiles = systemFiles;
    this.#workspace = absPath(request.workspace);
    this.#tools = tools;
    this.#searchPath = searchPathOf(environment);
    this.#inputs = inputs;
  }

  get homes(): Homes {
    this.#homes ??= this.#systemFiles?.homes ?? new Homes();
    return this.#homes;
  }

  /** Computed on first use: most path sets name no tool. */
  get #folders(): ReadonlyMap<string, AbsPath> {
    this.#known ??= this.#find();
    return this.#known;
  }

  #find(): Map<string, AbsPath> {
    const folders = new Map([[WORKSPACE, this.#workspace]]);
    for (const [link, tree] of this.#inputs?.links?.().trees ?? []) folders.set(`${LINKED}${link}`, tree);
    const keepOut = [this.#workspace, absPath(homeFolder())];
    for (const tool of this.#allTools()) {
      const folder = installationOf(absPath(tool.real), keepOut);
      if (folder !== undefined && !isInstalled(folder)) folders.set(`${TOOL}${tool.name}`, folder);
    }
    for (const { name, folder } of this.homes.ownSoftware(this.#workspace))
      folders.set(`${HOME}${name}`, folder);
    return folders;
  }

  /** Undefined for a root that this action does not have, and for a path that climbs above "/". */
  resolve({ root, path }: RootedPath): AbsPath | undefined {
    const folder = this.#folderOf(root);
    if (folder === undefined) return undefined;
    const climbs = (/^(?:\.\.\/)*/.exec(path)?.[0] ?? '').length / '../'.length;
    const from = climbs === 0 ? folder : [...foldersAbove(folder)][climbs - 1];
    return from && inside(from, parseRelPath(path.slice(climbs * '../'.length)));
  }

  /** A name in each folder above a root, the nearest folder first. */
  pathsAbove({ root, path }: RootedPath): AbsPath[] {
    const base = this.#folderOf(root.slice(ABOVE.length));
    const name = parseRelPath(path);
    return base === undefined ? [] : [...foldersAbove(base)].map((folder) => inside(folder, name));
  }

  #folderOf(root: string): AbsPath | undefined {
    if (root === '') return absPath('/');
    return root === WORKSPACE ? this.#workspace : this.#folders.get(root);
  }

  /** The path as messages show it. */
  shown(rooted: RootedPath): string {
    const fact = shownFact(rooted);
    if (fact !== undefined) return fact;
    if (isPattern(rooted.root)) return this.shown({ ...rooted, root: rootOfPattern(rooted.root) });
    if (isAbove(rooted.root)) {
      const base = rooted.root.slice(ABOVE.length);
      return `${rooted.path} above ${base === WORKSPACE ? 'the workspace' : base}`;
    }
    const path = this.resolve(rooted);
    return path === undefined ? `${rooted.root}/${rooted.path}` : displayPath(path, this.#workspace);
  }

  root(path: AbsPath): RootedPath {
    for (const [root, folder] of this.#folders) {
      const relative = relativeIn(folder, path);
      if (relative !== undefined) return { root, path: relative };
    }
    return { root: '', path: path.slice(1) };
  }

  /** Where an absolute target of a link lies in a source tree; undefined if it lies elsewhere. */
  inSourceTree(target: string): RootedPath | undefined {
    if (!this.#inputs?.links || !target.startsWith('/')) return undefined;
    const rooted = this.root(absPath(target));
    return rooted.root.startsWith(LINKED) ? rooted : undefined;
  }

  #allTools(): Tool[] {
    return this.#tools.flatMap((each) => [each, ...each.interpreters]);
  }

  /** The installation folders of the tools. */
  toolFolders(): AbsPath[] {
    return [...this.#folders].flatMap(([root, folder]) => (root.startsWith(TOOL) ? [folder] : []));
  }

  sourceTrees(): AbsPath[] {
    return [...(this.#inputs?.links?.().trees.values() ?? [])];
  }

  /** A file of a tool, which is in the key, or a program directly in a folder of the search path. */
  isTool(path: AbsPath, stats: Stats): boolean {
    const isProgram = stats.isSymbolicLink() || (stats.isFile() && (stats.mode & 0o111) !== 0);
    if (isProgram && this.#searchPath.includes(parentFolder(path))) return true;
    this.#toolFiles ??= new Set(this.#allTools().flatMap(({ file, real }) => [file, real]));
    return this.#toolFiles.has(path);
  }

  isInWorkspace(path: AbsPath): boolean {
    return isAtOrBelow(path, this.#workspace);
  }

  /** In the workspace, in a source tree, in a tool's folder, or in a folder of the search path. */
  isOwn(path: AbsPath): boolean {
    return this.root(path).root !== '' || this.#searchPath.includes(parentFolder(path));
  }

  /** The root whose folder this is. */
  rootAt(folder: AbsPath): string | undefined {
    for (const [root, at] of this.#folders) if (at === folder) return root;
    return undefined;
  }

  /** A path outside a root's folder, relative to that folder; undefined if the path is inside. */
  seenFrom(root: string, path: AbsPath): SeenFromBelow | undefined {
    const base = this.#folderOf(root);
    let ups = '';
    for (const folder of base === undefined || isAtOrBelow(path, base) ? [] : foldersAbove(base)) {
      ups += '../';
      const name = relativeIn(folder, path);
      if (name === undefined) continue;
      return {
        found: { root, path: `${ups}${name}` },
        sought: { root: `${ABOVE}${root}`, path: name },
        folder,
      };
    }
    return undefined;
  }
}

interface SeenFromBelow {
  /** With "../" for each folder up. */
  readonly found: RootedPath;
  /** As a name that was searched in every folder above. */
  readonly sought: RootedPath;
  /** The nearest folder above that contains it. */
  readonly folder: AbsPath;
}

/** A fact that is no path, as messages show it. */
export function shownFact({ root, path }: RootedPath): string | undefined {
  if (root === LOADER_CACHE) {
    const libraries = path === RENAMED ? 'the renamed libraries' : path;
    return `${libraries} in ${LOADER_CACHE_FILE}`;
  }
  return root === MACHINE ? propertyText(path) : undefined;
}

/** Installed by the system: the same path on every machine. */
export function isInstalled(path: AbsPath): boolean {
  return DEFAULT_POLICY.toolchain.some((place) => isAtOrBelow(path, place));
}

/** Provided by the kernel: the same path on every machine. */
export function isKernelPath(path: AbsPath): boolean {
  return DEFAULT_POLICY.kernel.some((place) => isAtOrBelow(path, place));
}
