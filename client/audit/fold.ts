// Folds a list of files that were read into the few patterns that a person would write: `src/**`,
// `lib/**/*.py`, or the files by name. A pattern takes no file that the command writes, and for a whole
// folder at most twice as many files as were read.
import { isWithin, nameOf, parentOf, type RelPath, ROOT } from '../../core/path.ts';
import { patternOf } from '../../hermeticity/verdict/finding.ts';

interface FoldOptions {
  /** The package's folder. No pattern takes all of it: its own files are named, or taken by their ending. */
  readonly home: RelPath;
  /** The files that a pattern for this folder takes; undefined if there are too many to count. */
  below(folder: RelPath): readonly RelPath[] | undefined;
  /** Whether no pattern may take this file: the command writes it, or it is some tool's cache. */
  isExcluded(path: RelPath): boolean;
  /** Folders that the command listed: a pattern is better than names there. */
  readonly listed: readonly RelPath[];
}

interface Fold {
  readonly pattern: string;
  /** Every path that the pattern takes is this path, or lies below it. */
  readonly base: RelPath;
}

/** From this many files of a folder on, or for a listing and one file, the suggestion is a pattern. */
const LEAST_FOR_PATTERN = 3;
/** Up to this many files directly in a folder are named one by one. */
const MOST_NAMED = 5;

export function fold(files: readonly RelPath[], options: FoldOptions): Fold[] {
  const all = [...new Set(files)].sort();
  const own = all.filter((file) => isWithin(file, options.home));
  const others = all.filter((file) => !isWithin(file, options.home));
  return [...foldIn(options.home, own, options), ...foldIn(ROOT, others, options)];
}

function foldIn(folder: RelPath, files: readonly RelPath[], options: FoldOptions): Fold[] {
  const direct = files.filter((file) => parentOf(file) === folder);
  const deeper = files.filter((file) => parentOf(file) !== folder);
  const byChild = [...Map.groupBy(deeper, (file) => childFolderOf(folder, file))];
  return [
    ...directFiles(folder, direct, options),
    ...byChild.flatMap(
      ([child, inside]) => wholeFolder(child, inside, options) ?? foldIn(child, inside, options),
    ),
  ];
}

/** The patterns for all files of a folder, or for all with some endings, if that is about what was read. */
function wholeFolder(folder: RelPath, files: readonly RelPath[], options: FoldOptions): Fold[] | undefined {
  const isListed = options.listed.some((one) => isWithin(one, folder));
  const all = options.below(folder);
  if (all === undefined || files.length < (isListed ? 1 : LEAST_FOR_PATTERN)) return undefined;
  const fits = (taken: readonly RelPath[], read: readonly RelPath[]) =>
    read.length * 2 >= taken.length && !taken.some((path) => options.isExcluded(path));
  if (fits(all, files)) return [{ pattern: `${patternOf(folder)}/**`, base: folder }];
  const byEnding = [...Map.groupBy(files, endingOf)];
  const areFit = byEnding.every(
    ([ending, read]) =>
      ending !== '' &&
      fits(
        all.filter((path) => endingOf(path) === ending),
        read,
      ),
  );
  if (!areFit || byEnding.length > LEAST_FOR_PATTERN) return undefined;
  return byEnding.map(([ending]) => ({
    pattern: `${patternOf(folder)}/**/*${patternOf(ending)}`,
    base: folder,
  }));
}

function directFiles(folder: RelPath, files: readonly RelPath[], options: FoldOptions): Fold[] {
  const named = (some: readonly RelPath[]) => some.map((file) => ({ pattern: patternOf(file), base: file }));
  if (files.length <= MOST_NAMED) return named(files);
  const prefix = folder === ROOT ? '' : `${patternOf(folder)}/`;
  return [...Map.groupBy(files, endingOf)].flatMap(([ending, read]) => {
    const taken = (options.below(folder) ?? []).filter(
      (path) => parentOf(path) === folder && endingOf(path) === ending,
    );
    const isClear = ending !== '' && !taken.some((path) => options.isExcluded(path));
    if (read.length < LEAST_FOR_PATTERN || !isClear) return named(read);
    return [{ pattern: `${prefix}*${patternOf(ending)}`, base: folder }];
  });
}

/** The folder directly in `folder` around the file. */
function childFolderOf(folder: RelPath, file: RelPath): RelPath {
  const from = folder === ROOT ? 0 : folder.length + 1;
  return file.slice(0, file.indexOf('/', from)) as RelPath;
}

/** ".ts" for "a.ts"; "" for a name without a dot, or with only a leading one. */
function endingOf(path: RelPath): string {
  const name = nameOf(path);
  const dot = name.lastIndexOf('.');
  return dot <= 0 ? '' : name.slice(dot);
}
