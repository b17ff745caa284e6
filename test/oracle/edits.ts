// Edits of a workspace, as people and their tools make them. An edit is data: one seed gives the same edits anywhere.
// Each edit can be taken back, because a change that is taken back is one of the hardest cases for a cache.
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import type { Random } from '../rig/random.ts';
import type { Recipe } from './recipes/recipe.ts';

/** The time of a file after it was written: now, long ago, or the one that it had. */
type Time = 'now' | 'old' | 'kept';

export type Edit =
  | { readonly do: 'write'; readonly path: string; readonly texts: readonly string[]; readonly time: Time }
  | { readonly do: 'appear'; readonly path: string; readonly text: string }
  | {
      readonly do: 'go' | 'folder-for-file' | 'file-for-folder' | 'chmod' | 'touch' | 'mkdir';
      readonly path: string;
    }
  | { readonly do: 'copy-for-link'; readonly path: string }
  | { readonly do: 'move' | 'swap' | 'link-for'; readonly path: string; readonly to: string };

const OLD = new Date('2001-02-03T04:05:06Z');

/** One edit of what the recipe has, or of a name that tempts its command. */
export function someEdit(random: Random, { files, tempting }: Recipe): Edit {
  const tempts = Object.keys(tempting);
  const path = random.pick(Object.keys(files));
  const folder = random.pick([...new Set(Object.keys(files).map(dirname))].filter((one) => one !== '.'));
  const write = (): Edit => ({
    do: 'write',
    path,
    texts: files[path] ?? [],
    time: random.pick(['now', 'old', 'kept']),
  });
  const appear = (): Edit => {
    const name = random.pick(tempts);
    return { do: 'appear', path: name, text: tempting[name] ?? '' };
  };
  const aside = () => random.pick(['moved', '../moved', `${dirname(path)}/moved`]);
  return random.pick<() => Edit>([
    appear,
    appear,
    appear,
    appear,
    appear,
    appear,
    write,
    write,
    () => ({ do: 'go', path: random.pick([...tempts, path, folder]) }),
    () => ({
      do: 'move',
      path: random.pick([path, folder]),
      to: `${dirname(path)}/renamed-${basename(path)}`,
    }),
    () => ({ do: 'move', path, to: random.pick(tempts) }),
    () => ({ do: 'swap', path, to: random.pick(Object.keys(files)) }),
    () => ({ do: 'swap', path: folder, to: random.pick([...new Set(Object.keys(files).map(dirname))]) }),
    () => ({ do: 'folder-for-file', path: random.pick([path, ...tempts]) }),
    () => ({ do: 'file-for-folder', path: folder }),
    () => ({ do: 'link-for', path: folder, to: `${aside()}-${basename(folder)}` }),
    () => ({ do: 'link-for', path: folder, to: `${aside()}-${basename(folder)}` }),
    () => ({ do: 'link-for', path, to: `${aside()}-${basename(path)}` }),
    () => ({ do: 'copy-for-link', path: random.pick([folder, path]) }),
    () => ({ do: 'mkdir', path: random.pick([`${folder}/new-folder`, ...tempts, 'new-folder']) }),
    () => ({ do: random.pick(['chmod', 'touch']), path }),
  ])();
}

/** As a line of shell, for the script that repeats a case by hand. */
export function describe(edit: Edit): string {
  const { path } = edit;
  switch (edit.do) {
    case 'write':
      return `write the other version of ${path}${edit.time === 'now' ? '' : `, time ${edit.time}`}`;
    case 'appear':
      return `mkdir -p ${dirname(path)}; printf '%s' ${JSON.stringify(edit.text)} > ${path}`;
    case 'go':
      return `rm -r ${path}`;
    case 'folder-for-file':
      return `mv ${path} x; mkdir ${path}; mv x ${path}/inside`;
    case 'file-for-folder':
      return `rm -r ${path}; echo file > ${path}`;
    case 'chmod':
      return `chmod +x ${path}`;
    case 'touch':
      return `touch -d ${OLD.toISOString()} ${path}`;
    case 'mkdir':
      return `mkdir ${path}`;
    case 'copy-for-link':
      return `replace the link ${path} by a copy of what it leads to`;
    case 'move':
      return `mv ${path} ${edit.to}`;
    case 'swap':
      return `mv ${path} x; mv ${edit.to} ${path}; mv x ${edit.to}`;
    case 'link-for':
      return `mv ${path} ${edit.to}; ln -s ${relative(dirname(path), edit.to)} ${path}`;
  }
}

/** Takes the edit back. */
export type Undo = () => void;

/** Applies edits below one folder; `aside` is a folder of the same file system that no command sees. */
export class Editor {
  readonly #root: string;
  readonly #aside: string;
  #count = 0;

  constructor(root: string, aside: string) {
    this.#root = root;
    this.#aside = aside;
  }

  /** Undefined: the edit does not apply to the files as they are now, and nothing changed. */
  apply(edit: Edit): Undo | undefined {
    const path = join(this.#root, edit.path);
    const stats = statOf(path);
    switch (edit.do) {
      case 'write':
        return stats?.isFile() ? this.#write(path, stats, edit.texts, edit.time) : undefined;
      case 'appear':
        return stats ? undefined : appear(path, () => writeFileSync(path, edit.text));
      case 'mkdir':
        return stats ? undefined : appear(path, () => mkdirSync(path));
      case 'go':
        return stats && this.#replace(path, () => {});
      case 'folder-for-file':
        return stats?.isFile() ? this.#replace(path, (old) => folderWith(path, old)) : undefined;
      case 'file-for-folder':
        return stats?.isDirectory() ? this.#replace(path, () => writeFileSync(path, 'file\n')) : undefined;
      case 'copy-for-link':
        return stats?.isSymbolicLink() && existsSync(path) ? this.#replaceLink(path) : undefined;
      case 'chmod':
        return stats?.isFile() ? chmod(path, stats) : undefined;
      case 'touch':
        return stats?.isFile() ? touch(path, stats) : undefined;
      case 'move':
        return stats && move(path, join(this.#root, edit.to));
      case 'swap':
        return stats && this.#swap(path, join(this.#root, edit.to));
      case 'link-for':
        return stats && !stats.isSymbolicLink() ? linkFor(path, join(this.#root, edit.to)) : undefined;
    }
  }

  #write(path: string, stats: Stats, texts: readonly string[], time: Time): Undo {
    const old = readFileSync(path, 'utf8');
    writeFileSync(path, texts.find((text) => text !== old) ?? old);
    if (time !== 'now') utimesSync(path, OLD, time === 'old' ? OLD : stats.mtime);
    return () => {
      writeFileSync(path, old);
      if (time !== 'now') utimesSync(path, stats.atime, stats.mtime);
    };
  }

  /** Moves what is there aside, so that taking it back gives the same inode again. */
  #replace(path: string, put: (old: string) => void): Undo {
    const old = join(this.#aside, String(this.#count++));
    renameSync(path, old);
    put(old);
    return () => {
      rmSync(path, { recursive: true, force: true });
      mkdirSync(dirname(path), { recursive: true });
      renameSync(old, path);
    };
  }

  #replaceLink(path: string): Undo {
    const target = realpathSync(path);
    const link = readlinkSync(path);
    rmSync(path);
    cpSync(target, path, { recursive: true, verbatimSymlinks: true });
    return () => {
      rmSync(path, { recursive: true, force: true });
      symlinkSync(link, path);
    };
  }

  #swap(path: string, other: string): Undo | undefined {
    if (statOf(other) === undefined || isWithin(other, path) || isWithin(path, other)) return undefined;
    const swap = () => {
      const third = join(this.#aside, String(this.#count++));
      renameSync(path, third);
      renameSync(other, path);
      renameSync(third, other);
    };
    swap();
    return swap;
  }
}

/** Undefined also where an edit has put a file in place of a folder above. */
export function statOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOTDIR') return undefined;
    throw error;
  }
}

/** With the folders above it; taking it back removes those too. */
function appear(path: string, make: () => void): Undo | undefined {
  let top = path;
  while (statOf(dirname(top)) === undefined) top = dirname(top);
  if (!statIsFolder(dirname(top))) return undefined;
  mkdirSync(dirname(path), { recursive: true });
  make();
  return () => rmSync(top, { recursive: true, force: true });
}

/** Through links too, as the system does it. */
function statIsFolder(path: string): boolean {
  return existsSync(path) && lstatSync(realpathSync(path)).isDirectory();
}

/** Whether a path is the other one or below it: as it is written, or through links above it. */
function isWithin(path: string, other: string): boolean {
  const real = (one: string) => join(realpathSync(dirname(one)), basename(one));
  const isBelow = (one: string, folder: string) => !relative(folder, one).startsWith('..');
  return isBelow(path, other) || isBelow(real(path), real(other));
}

function folderWith(path: string, old: string): void {
  mkdirSync(path);
  cpSync(old, join(path, 'inside'));
}

function chmod(path: string, { mode }: Stats): Undo {
  chmodSync(path, mode ^ 0o111);
  return () => chmodSync(path, mode);
}

function touch(path: string, { atime, mtime }: Stats): Undo {
  utimesSync(path, OLD, OLD);
  return () => utimesSync(path, atime, mtime);
}

function move(path: string, to: string): Undo | undefined {
  if (statOf(to) !== undefined || !statIsFolder(dirname(to)) || isWithin(to, path)) return undefined;
  renameSync(path, to);
  return () => renameSync(to, path);
}

function linkFor(path: string, to: string): Undo | undefined {
  const back = move(path, to);
  if (back) symlinkSync(relative(dirname(path), to), path);
  return (
    back &&
    (() => {
      rmSync(path);
      back();
    })
  );
}
