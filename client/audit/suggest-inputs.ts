// The input patterns for what a command read, probed, missed or listed in the workspace, beyond its
// declaration.
import { isWithin, parentOf, type RelPath, ROOT } from '../../core/path.ts';
import { type Fix, patternOf } from '../../hermeticity/verdict/finding.ts';
import { matcherOf } from '../inputs/patterns.ts';
import { fold } from './fold.ts';
import { BOTH_WAYS, isInstalledPackage, whyNeverDeclared } from './never-declared.ts';
import type { PathFinding, Suggestions } from './suggest.ts';
import type { WorkspaceFiles } from './workspace-files.ts';

/** A suggestion names at most this many files of an ignored folder, and missing files of any folder. */
const MOST_IGNORED = 3;
const MOST_ABSENT = 5;

const NOT_IN_CLONES =
  'git does not track it, so a fresh clone lacks it: add it to git, or remove it and audit again if the command makes it';

interface Pattern {
  readonly fixes: readonly Fix[];
  /** Every path that it takes is this path, or lies below it. */
  readonly base: RelPath;
  takes(path: RelPath): boolean;
  /** Whether it takes every new file of this folder. */
  growsIn(folder: RelPath): boolean;
}

export class InputAdvice {
  readonly #read: readonly PathFinding[];
  readonly #written: readonly RelPath[];
  readonly #files: WorkspaceFiles;
  readonly #home: RelPath;
  readonly #left = new Map<PathFinding, string>();
  readonly #patterns: Pattern[] = [];

  constructor(
    read: readonly PathFinding[],
    written: readonly PathFinding[],
    files: WorkspaceFiles,
    home: RelPath,
  ) {
    this.#read = read;
    this.#written = written.map(({ path }) => path);
    this.#files = files;
    this.#home = home;
  }

  suggestions(): Suggestions {
    for (const one of this.#read) this.#leaveIf(one, this.#whyNever(one));
    this.#leaveIgnoredFolders();
    for (const one of this.#open())
      if (one.finding.kind !== 'absent' && this.#isLeftover(one.path)) this.#leaveIf(one, NOT_IN_CLONES);
    this.#takeFiles();
    for (const one of this.#open('list')) this.#takeListing(one);
    this.#takeAbsent();
    for (const one of this.#open('probe'))
      if (!this.#patterns.some((pattern) => covers(pattern, one)))
        this.#leaveIf(one, 'only the existence of a folder was checked');
    return this.#result();
  }

  #result(): Suggestions {
    const byPattern = Map.groupBy(this.#open(), (one) =>
      this.#patterns.find((pattern) => covers(pattern, one)),
    );
    return {
      declare: [...byPattern].flatMap(([pattern, some]) =>
        pattern ? [{ fixes: pattern.fixes, findings: some.map(({ finding }) => finding) }] : [],
      ),
      leave: [...this.#left].map(([{ finding }, why]) => ({ why, findings: [finding] })),
    };
  }

  /** The findings that no rule has left out yet. */
  #open(kind?: 'list' | 'absent' | 'probe'): PathFinding[] {
    return this.#read.filter(
      (one) => !this.#left.has(one) && (kind === undefined || one.finding.kind === kind),
    );
  }

  #leaveIf(one: PathFinding, why: string | undefined): void {
    if (why !== undefined) this.#left.set(one, why);
  }

  #whyNever({ path, finding }: PathFinding): string | undefined {
    const why = whyNeverDeclared(path);
    if (why !== undefined || finding.kind === 'absent') return why;
    if (this.#isWritten(path)) return BOTH_WAYS;
    const link = this.#files.linkAt(path);
    if (link && (link.target === undefined || link.target === ROOT))
      return 'a link out of the workspace, or to all of it: declare what it leads to by its own path';
    if (!link && isInstalledPackage(path))
      return 'installed packages: "observed": true takes what the command reads of them';
    return undefined;
  }

  /** An installed package is none: the package manager makes the links to it. */
  #isLeftover(path: RelPath): boolean {
    return path !== ROOT && !isInstalledPackage(path) && this.#files.isMissingInClones(path);
  }

  #isWritten(path: RelPath): boolean {
    return this.#written.some((written) => isWithin(path, written));
  }

  /** Whether no pattern may take this file. */
  #isExcluded(path: RelPath): boolean {
    const isLeft = this.#isWritten(path) || this.#isLeftover(path);
    return isLeft || whyNeverDeclared(path) !== undefined || isInstalledPackage(path);
  }

  /** A few ignored files can be named. An ignored folder is what some step makes. */
  #leaveIgnoredFolders(): void {
    const hidden = this.#open().filter(({ path }) => this.#files.isIgnored(path));
    for (const [folder, some] of Map.groupBy(hidden, ({ path }) => this.#topmostIgnored(path))) {
      const isFew = some.length <= MOST_IGNORED && some.every(({ finding }) => finding.kind !== 'list');
      if (isFew) continue;
      for (const one of some)
        this.#leaveIf(one, `git ignores ${folder}: if another step makes it, depend on that step`);
    }
  }

  #topmostIgnored(path: RelPath): RelPath {
    const parent = parentOf(path);
    return parent !== ROOT && this.#files.isIgnored(parent) ? this.#topmostIgnored(parent) : path;
  }

  /** Links and ignored files by name, all others by patterns. */
  #takeFiles(): void {
    const present = this.#open().filter(
      ({ finding, path }) =>
        finding.kind === 'read' || (finding.kind === 'probe' && !this.#files.isFolder(path)),
    );
    const isNamed = ({ path }: PathFinding) =>
      this.#files.isIgnored(path) || this.#files.linkAt(path) !== undefined;
    for (const { path } of present.filter(isNamed)) this.#takeByName(path);
    const patterns = fold(
      present.filter((one) => !isNamed(one)).map(({ path }) => path),
      {
        home: this.#home,
        below: (folder) => this.#files.below(folder),
        isExcluded: (path) => this.#isExcluded(path),
        listed: this.#open('list').map(({ path }) => path),
      },
    );
    for (const { pattern, base } of patterns) this.#take({ flag: '--input', value: pattern }, base);
  }

  /** A link is in the key by its text, so the folder that it leads to must be declared too. */
  #takeByName(path: RelPath): void {
    const target = this.#files.linkAt(path)?.target;
    const isFolder = target !== undefined && this.#files.isFolder(target);
    const names = isFolder ? [path, target] : [path];
    const fixes = names.map((name): Fix => ({ flag: '--input', value: patternOf(name) }));
    this.#patterns.push({
      fixes,
      base: path,
      takes: (other) => names.some((name) => isWithin(other, name)),
      growsIn: () => false,
    });
  }

  #take(fix: Fix, base: RelPath): void {
    const isWhole = fix.value.endsWith('/**');
    const isFlat = fix.value.endsWith('/*');
    this.#patterns.push({
      fixes: [fix],
      base,
      takes: matcherOf(fix.value),
      growsIn: (folder) => (isWhole && isWithin(folder, base)) || (isFlat && folder === base),
    });
  }

  #takeListing(one: PathFinding): void {
    const why = this.#whyNoListing(one.path);
    this.#leaveIf(one, why);
    const isKnown = this.#patterns.some((pattern) => covers(pattern, one));
    if (why === undefined && !isKnown) this.#take(one.fix, one.path);
  }

  #whyNoListing(folder: RelPath): string | undefined {
    if (folder === this.#home || folder === ROOT)
      return 'a pattern for the whole folder would put every file of it into the key';
    const [ignored, ...more] = this.#files.ignoredIn(folder);
    if (ignored !== undefined)
      return `the listing of ${folder} shows ${ignored}${more.length > 0 ? ` and ${more.length} more` : ''}, which git ignores`;
    const taken = this.#files.below(folder)?.filter((path) => parentOf(path) === folder);
    const leftover = taken?.find((path) => this.#isLeftover(path));
    if (leftover !== undefined) return `the listing shows ${leftover}: ${NOT_IN_CLONES}`;
    const isUnfit = taken?.some((path) => this.#isExcluded(path)) ?? true;
    return isUnfit ? `the command writes to ${folder}, so no pattern fits` : undefined;
  }

  #takeAbsent(): void {
    const absent = this.#open('absent').filter(
      (one) => !this.#patterns.some((pattern) => covers(pattern, one)),
    );
    for (const [folder, some] of Map.groupBy(absent, ({ path }) => this.#missingFolder(path))) {
      if (folder !== undefined && some.length > 1)
        this.#take({ flag: '--optional-input', value: `${patternOf(folder)}/**` }, folder);
      else if (some.length > MOST_ABSENT)
        for (const one of some)
          this.#leaveIf(one, 'names that do not exist: there is nothing to declare until one appears');
      else for (const { fix, path } of some) this.#take(fix, path);
    }
  }

  /** The outermost folder around the path that does not exist. */
  #missingFolder(path: RelPath): RelPath | undefined {
    let missing: RelPath | undefined;
    for (
      let folder = parentOf(path);
      folder !== ROOT && !this.#files.isFolder(folder);
      folder = parentOf(folder)
    )
      missing = folder;
    return missing;
  }
}

function covers(pattern: Pattern, { finding, path }: PathFinding): boolean {
  if (finding.kind === 'list') return pattern.growsIn(path);
  if (pattern.takes(path)) return true;
  return finding.kind === 'probe' && isWithin(pattern.base, path);
}
