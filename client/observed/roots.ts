// What the paths of a path set are relative to, so that it means the same in another checkout and for tools that are
// installed elsewhere.
import { realpathSync } from 'node:fs';
import { parseRelPath, type RelPath } from '../../core/path.ts';
import type { SeenPath } from '../../core/path-set.ts';
import {
  type AbsPath,
  absPath,
  foldersAbove,
  inside,
  isAtOrBelow,
  relativeIn,
  shown,
} from '../../hermeticity/abspath.ts';
import { installationOf } from '../../hermeticity/installation.ts';
import { DEFAULT_POLICY } from '../../hermeticity/policy.ts';
import type { RunRequest } from '../request.ts';
import { homeOrNowhere } from '../store-folder.ts';
import type { Tool } from '../tools.ts';

const WORKSPACE = 'workspace';
/** Every folder above the workspace, up to the root: for what a command sought there in vain. */
export const ABOVE = 'above';

/** What of an action says where its paths lie. */
export interface Looker {
  readonly request: Pick<RunRequest, 'workspace' | 'outputs'>;
  readonly tools: readonly Tool[];
}

export type Rooted = Pick<SeenPath, 'root' | 'path'>;

export class Roots {
  readonly #workspace: AbsPath;
  readonly #tools: readonly Tool[];
  #known: ReadonlyMap<string, AbsPath> | undefined;

  constructor({ request, tools }: Looker) {
    this.#workspace = absPath(request.workspace);
    this.#tools = tools;
  }

  /** Looked for when a tool's folder is first asked for: most path sets name none. */
  get #folders(): ReadonlyMap<string, AbsPath> {
    this.#known ??= this.#find();
    return this.#known;
  }

  #find(): Map<string, AbsPath> {
    const folders = new Map([[WORKSPACE, this.#workspace]]);
    const keepOut = [this.#workspace, absPath(homeOrNowhere())];
    for (const tool of this.#tools.flatMap((each) => [each, ...each.interpreters])) {
      const folder = installationOf(absPath(realpathSync(tool.file)), keepOut);
      if (folder !== undefined && !isInstalled(folder)) folders.set(`tool:${tool.name}`, folder);
    }
    return folders;
  }

  /** Undefined for a root that this action does not have, and for what would lie above the root of the file system. */
  resolve({ root, path }: Rooted): AbsPath | undefined {
    const folder = this.#folderOf(root);
    if (folder === undefined) return undefined;
    const climbs = (/^(?:\.\.\/)*/.exec(path)?.[0] ?? '').length / '../'.length;
    const from = climbs === 0 ? folder : [...foldersAbove(folder)][climbs - 1];
    return from && inside(from, parseRelPath(path.slice(climbs * '../'.length)));
  }

  /** Where a name of the root `above` is looked for: in each folder above the workspace, the nearest first. */
  everywhereAbove(name: string): AbsPath[] {
    const path = parseRelPath(name);
    return [...foldersAbove(this.#workspace)].map((folder) => inside(folder, path));
  }

  #folderOf(root: string): AbsPath | undefined {
    if (root === '') return absPath('/');
    return root === WORKSPACE ? this.#workspace : this.#folders.get(root);
  }

  /** As people see it. */
  shown(rooted: Rooted): string {
    if (rooted.root === ABOVE) return `${rooted.path} above the workspace`;
    const path = this.resolve(rooted);
    return path === undefined ? `${rooted.root}/${rooted.path}` : shown(path, this.#workspace);
  }

  root(path: AbsPath): Rooted {
    for (const [root, folder] of this.#folders) {
      const relative = relativeIn(folder, path);
      if (relative !== undefined) return { root, path: relative };
    }
    return { root: '', path: path.slice(1) };
  }

  /** Of something that lies outside, as it is seen from the workspace: how far up, and the name there. */
  fromWorkspace(path: AbsPath): { rooted: Rooted; name: RelPath } | undefined {
    let ups = '';
    for (const folder of foldersAbove(this.#workspace)) {
      ups += '../';
      const name = relativeIn(folder, path);
      if (name !== undefined) return { rooted: { root: WORKSPACE, path: `${ups}${name}` }, name };
    }
    return undefined;
  }
}

/** Installed by the system: the same place on every machine. */
export function isInstalled(path: AbsPath): boolean {
  return DEFAULT_POLICY.toolchain.some((place) => isAtOrBelow(path, place));
}

/** The kernel's own: the same place on every machine, too. */
export function isKernels(path: AbsPath): boolean {
  return DEFAULT_POLICY.kernel.some((place) => isAtOrBelow(path, place));
}
