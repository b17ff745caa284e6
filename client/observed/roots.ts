// What the paths of a path set are relative to, so that it means the same in another checkout and for tools that are
// installed elsewhere.
import { realpathSync } from 'node:fs';
import { parseRelPath } from '../../core/path.ts';
import type { SeenPath } from '../../core/path-set.ts';
import {
  type AbsPath,
  absPath,
  inside,
  isAtOrBelow,
  parentFolder,
  relativeIn,
  shown,
} from '../../hermeticity/abspath.ts';
import { installationOf } from '../../hermeticity/installation.ts';
import { DEFAULT_POLICY } from '../../hermeticity/policy.ts';
import type { KeyedAction } from '../key.ts';
import { homeOrNowhere } from '../store-folder.ts';
import type { Tool } from '../tools.ts';

const WORKSPACE = 'workspace';

export type Rooted = Pick<SeenPath, 'root' | 'path'>;

export class Roots {
  readonly #workspace: AbsPath;
  readonly #tools: readonly Tool[];
  #known: ReadonlyMap<string, AbsPath> | undefined;

  constructor({ request, tools }: Pick<KeyedAction, 'request' | 'tools'>) {
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

  /** Undefined for a root that this action does not have. */
  resolve({ root, path }: Rooted): AbsPath | undefined {
    const folder = this.#folderOf(root);
    if (folder === undefined) return undefined;
    const climbs = /^(?:\.\.\/)*/.exec(path)?.[0] ?? '';
    let from = folder;
    for (let at = 0; at < climbs.length; at += '../'.length) from = parentFolder(from);
    return inside(from, parseRelPath(path.slice(climbs.length)));
  }

  #folderOf(root: string): AbsPath | undefined {
    if (root === '') return absPath('/');
    return root === WORKSPACE ? this.#workspace : this.#folders.get(root);
  }

  /** As people see it. */
  shown(rooted: Rooted): string {
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

  /** Of something above the workspace, as it is seen from there. */
  fromWorkspace(path: AbsPath): Rooted | undefined {
    let ups = '..';
    for (let folder = parentFolder(this.#workspace); folder !== '/'; folder = parentFolder(folder)) {
      if (isAtOrBelow(path, folder)) return { root: WORKSPACE, path: `${ups}/${relativeIn(folder, path)}` };
      ups += '/..';
    }
    return undefined;
  }
}

/** Installed by the system: the same place on every machine. */
function isInstalled(folder: AbsPath): boolean {
  return DEFAULT_POLICY.toolchain.some((place) => isAtOrBelow(folder, place));
}
