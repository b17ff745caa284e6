// The files of a folder as lines, for comparing two folders that lie at different paths.
// The workspace's path reads `/workspace` in contents and links, as in the log that Assay stores; the folder above it `/above`.
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** By path: type, executable bit, and content or target. */
export type Tree = ReadonlyMap<string, string>;

export function treeOf(folder: string, isSkipped: (path: string) => boolean, own = folder): Tree {
  const tree = new Map<string, string>();
  const visit = (below: string): void => {
    for (const name of readdirSync(join(folder, below)).sort()) {
      const path = join(below, name);
      if (isSkipped(path)) continue;
      const stats = lstatSync(join(folder, path));
      if (stats.isDirectory()) {
        tree.set(path, 'folder');
        visit(path);
      } else if (stats.isSymbolicLink()) {
        tree.set(path, `link to ${withoutPath(readlinkSync(join(folder, path)), own)}`);
      } else {
        const text = withoutPath(readFileSync(join(folder, path), 'latin1'), own);
        tree.set(path, `${stats.mode & 0o100 ? 'executable' : 'file'} ${JSON.stringify(text)}`);
      }
    }
  };
  visit('');
  return tree;
}

/** Without those of the folders that hold nothing; the nearest come first. */
export function withoutEmpty(tree: Tree, folders: readonly string[]): Tree {
  const left = new Map(tree);
  for (const folder of folders)
    if (![...left.keys()].some((path) => path.startsWith(`${folder}/`))) left.delete(folder);
  return left;
}

export function withoutPath(text: string, folder: string): string {
  return text.replaceAll(folder, '/workspace').replaceAll(`${dirname(folder)}/`, '/above/');
}

/** Whether a link leads above the workspace. Folders there, /tmp among them, then count by all their names. */
export function leadsOut(tree: Tree): boolean {
  return [...tree].some(([path, what]) => {
    const [, target] = /^link to (\.\..*)$/.exec(what) ?? [];
    const [top] = path.split('/');
    return target !== undefined && !`${join(dirname(path), target)}/`.startsWith(`${top}/`);
  });
}

/** Whether a package lies above the workspace. Where esbuild takes a source from there, the same folders count. */
export function bundlesFromAbove(above: Tree): boolean {
  return [...above.keys()].some((path) => path.startsWith('node_modules/'));
}

/** What changed or went. New files are left out. */
export function lossesOf(before: Tree, after: Tree): string[] {
  return treeDifferences(before, new Map([...after].filter(([path]) => before.has(path))));
}

/** What differs, one line each, with the content of both. */
export function treeDifferences(expected: Tree, got: Tree): string[] {
  const paths = [...new Set([...expected.keys(), ...got.keys()])].sort();
  return paths
    .filter((path) => expected.get(path) !== got.get(path))
    .map((path) => `${path}: expected ${brief(expected.get(path))}, got ${brief(got.get(path))}`);
}

function brief(text = 'nothing'): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
