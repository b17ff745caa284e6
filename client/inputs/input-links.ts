// The symbolic links between the paths of inputs and the files themselves.
// Bazel lays out the inputs of an action as links into the source tree. The key has the content of each file,
// so neither a link on the way to it nor the file's real path is an undeclared input.

import { lstatSync, readlinkSync } from 'node:fs';
import { nameOf, parentOf, type RelPath, ROOT } from '../../core/path.ts';
import {
  type AbsPath,
  absPath,
  FILESYSTEM_ROOT,
  inside,
  linkTargetFromBytes,
  parentFolder,
  relativeIn,
  targetOfLink,
  toBytes,
} from '../../system/paths/absolute-path.ts';
import { DECLARED } from '../limits.ts';

export interface InputLinks {
  /** Every link on the way from the path of an input to its file. */
  readonly links: ReadonlySet<AbsPath>;
  /** The real path of an input, or of a folder above one → its path in the workspace, if the two differ. */
  readonly paths: ReadonlyMap<AbsPath, RelPath>;
  /**
   * Source trees: folders that have what a link of the workspace leads to at the path of that link. Each is
   * named by the first such link, so that the same layout on another machine gives the same name.
   */
  readonly trees: ReadonlyMap<RelPath, AbsPath>;
}

/** `inputs`: all in the workspace, each a file after all links. */
export function findInputLinks(inputs: readonly RelPath[], workspace: string): InputLinks {
  const root = absPath(workspace);
  const resolver = new LinkResolver();
  const paths = new Map<AbsPath, RelPath>();
  const seen = new Set<RelPath>();
  for (const input of inputs) {
    for (let path = input; path !== ROOT && !seen.has(path); path = parentOf(path)) {
      seen.add(path);
      const named = inside(root, path);
      const real = resolver.resolve(named);
      if (real !== named) addWithFolders(real, path, paths);
    }
  }
  return { links: new Set(resolver.found.keys()), paths, trees: treesOf(resolver.found, root) };
}

/**
 * The folders above the real path exist because the file does, as far as they have the names of the layout.
 */
function addWithFolders(real: AbsPath, path: RelPath, paths: Map<AbsPath, RelPath>): void {
  let [at, named] = [real, path];
  while (named !== ROOT && !paths.has(at) && (at === real || at.endsWith(`/${nameOf(named)}`))) {
    paths.set(at, named);
    [at, named] = [parentFolder(at), parentOf(named)];
  }
}

function treesOf(found: ReadonlyMap<AbsPath, AbsPath>, root: AbsPath): Map<RelPath, AbsPath> {
  const byFolder = new Map<AbsPath, RelPath>();
  for (const [link, real] of [...found].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const path = relativeIn(root, link);
    if (path === undefined || !real.endsWith(`/${path}`)) continue;
    const folder = absPath(real.slice(0, -path.length - 1) || '/');
    if (folder !== FILESYSTEM_ROOT && folder !== root && !byFolder.has(folder)) byFolder.set(folder, path);
  }
  return new Map([...byFolder].map(([folder, path]) => [path, folder]));
}

/** Resolves paths part by part, and records each link with the real path that it leads to. */
class LinkResolver {
  readonly found = new Map<AbsPath, AbsPath>();
  readonly #known = new Map<AbsPath, AbsPath>();

  resolve(path: AbsPath, depth = 0): AbsPath {
    if (path === FILESYSTEM_ROOT) return path;
    const known = this.#known.get(path);
    if (known !== undefined) return known;
    const real = this.#follow(childIn(this.resolve(parentFolder(path), depth), path), depth);
    this.#known.set(path, real);
    return real;
  }

  /** `path`: its parent is real. */
  #follow(path: AbsPath, depth: number): AbsPath {
    const known = this.found.get(path);
    if (known !== undefined) return known;
    const target = depth > DECLARED.maxLinks ? undefined : targetAt(path);
    if (target === undefined) return path;
    const real = this.resolve(targetOfLink(path, target), depth + 1);
    this.found.set(path, real);
    return real;
  }
}

/** Undefined for what is no link, and for what cannot be reached: an input may be gone by now. */
function targetAt(path: AbsPath): string | undefined {
  try {
    const bytes = toBytes(path);
    const stats = lstatSync(bytes, { throwIfNoEntry: false });
    return stats?.isSymbolicLink() ? linkTargetFromBytes(readlinkSync(bytes, 'buffer')) : undefined;
  } catch {
    return undefined;
  }
}

function childIn(folder: AbsPath, path: AbsPath): AbsPath {
  return absPath(`${folder === FILESYSTEM_ROOT ? '' : folder}${path.slice(path.lastIndexOf('/'))}`);
}
