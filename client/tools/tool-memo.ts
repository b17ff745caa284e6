// Caches tool lookups within one process: the steps of a graph mostly use the same tools. Cleared after a
// command ran, which may have changed tools. Tools in the workspace are also cleared after a restore. Whether
// a tool changed while a command ran is never answered from here (run/key.ts resolves it again).
import { realpathSync } from 'node:fs';
import { delimiter } from 'node:path';
import type { ErrorCode } from '../../core/errors.ts';
import { isFindable, resolveTool, type Tool, type ToolSearch } from './tools.ts';

export class ToolMemo {
  readonly #workspace: string;
  readonly #now: () => number;
  readonly #found = new Map<string, Tool>();
  /** The clock before each tool was looked at. */
  readonly #resolvedAt = new WeakMap<Tool, number>();
  readonly #findable = new Map<string, boolean>();
  /** By search path: whether it has a folder in the workspace. */
  readonly #paths = new Map<string, boolean>();
  /** Lookups whose result depends on the workspace. */
  readonly #inside = new Set<string>();

  constructor(workspace: string, now: () => number = Date.now) {
    this.#workspace = workspace;
    this.#now = now;
  }

  resolve(name: string, search: ToolSearch, missing?: ErrorCode): Tool {
    const path = this.#withoutPackages(name, search.path);
    if (path !== search.path && this.isFindable(name, { ...search, path })) {
      const shared = this.#resolve(name, { ...search, path }, missing);
      /* A package may have the program that env searches for a script. */
      if (!searchesPath(shared)) return shared;
    }
    return this.#resolve(name, search, missing);
  }

  #resolve(name: string, search: ToolSearch, missing: ErrorCode | undefined): Tool {
    const id = this.#searchId(name, search);
    const known = this.#found.get(id);
    if (known) return known;
    const resolvedAt = this.#now();
    const found = resolveTool(name, search, missing);
    if (this.#isInside(found)) this.#inside.add(id);
    this.#found.set(id, found);
    this.#resolvedAt.set(found, resolvedAt);
    return found;
  }

  /** The clock before the stats of a tool were taken; undefined for a tool that was not resolved here. */
  resolvedAt(tool: Tool): number | undefined {
    return this.#resolvedAt.get(tool);
  }

  isFindable(name: string, { path: whole, folder }: Pick<ToolSearch, 'path' | 'folder'>): boolean {
    const search = { path: this.#withoutPackages(name, whole), folder };
    const id = this.#searchId(name, search);
    const found = this.#findable.get(id) ?? isFindable(name, search);
    this.#findable.set(id, found);
    return found;
  }

  forget(): void {
    this.#found.clear();
    this.#findable.clear();
    this.#paths.clear();
    this.#inside.clear();
  }

  forgetInside(): void {
    for (const id of this.#inside) {
      this.#found.delete(id);
      this.#findable.delete(id);
    }
    this.#inside.clear();
  }

  /**
   * The path behind the first folders of the workspace that have no such program: each package has others, and all
   * share the rest.
   */
  #withoutPackages(name: string, path: string): string {
    if (name.includes('/')) return path;
    const folders = path.split(delimiter);
    const isPassed = (folder: string) =>
      folder.startsWith(`${this.#workspace}/`) && !isFindable(name, { path: folder, folder });
    const first = folders.findIndex((folder) => !isPassed(folder));
    return first > 0 ? folders.slice(first).join(delimiter) : path;
  }

  /** A name without a slash is searched on PATH, whatever the folder. */
  #searchId(name: string, { path, folder }: Pick<ToolSearch, 'path' | 'folder'>): string {
    const isPath = name.includes('/');
    const id = [name, path, isPath ? folder : ''].join('\0');
    if (isPath || this.#leadsInside(path)) this.#inside.add(id);
    return id;
  }

  #leadsInside(path: string): boolean {
    const known = this.#paths.get(path) ?? path.split(delimiter).some((folder) => this.#holds(folder));
    this.#paths.set(path, known);
    return known;
  }

  #isInside({ file, interpreters }: Tool): boolean {
    return this.#holds(file) || interpreters.some((one) => this.#isInside(one));
  }

  /** By its real path, because a link may lead into the workspace. A missing file counts by its name. */
  #holds(path: string): boolean {
    return [path, realPath(path)].some((one) => `${one}/`.startsWith(`${this.#workspace}/`));
  }
}

function searchesPath({ interpreters }: Tool): boolean {
  return interpreters.some((one) => !one.name.includes('/') || searchesPath(one));
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
