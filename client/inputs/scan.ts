// Scans the workspace: from declared patterns to files with digests. Synchronous, because a scan is thousands
// of tiny system calls and nothing else can start before it ends.
//
// A scan never follows a link: the link itself is an input, and its target must be declared by its own path.
// A pattern that would have to go through a link is an error.
// A socket, a pipe or a device is no input, as git lists none; one that a pattern names exactly is an error.

import { readlinkSync, type Stats } from 'node:fs';
import { AssayError } from '../../core/errors.ts';
import {
  isWithin,
  join,
  nameFromBytes,
  parentOf,
  parseRelPath,
  type RelPath,
  ROOT,
  toSystemPath,
} from '../../core/path.ts';
import type { Entry } from '../../core/tree.ts';
import type { RunRequest } from '../action/request.ts';
import { isPrivateFolder } from '../action/reserved.ts';
import type { FileDigests } from '../files/file-digest.ts';
import { targetInWorkspace } from '../files/links.ts';
import type { StatRecorder } from '../files/stat-recorder.ts';
import { HIDES_NOTHING, type IgnoreRules, rulesAbove, rulesWithin } from './git-ignore.ts';
import { type CompiledPattern, compilePatterns, type Patterns } from './patterns.ts';

interface InputScan {
  readonly entries: readonly Entry[];
  /** Links to something that is no input: their targets are not in the key. */
  readonly strayLinks: readonly RelPath[];
}

export function scanInputs(request: RunRequest, observations: StatRecorder, digests: FileDigests): InputScan {
  return new Scan(request, observations, digests).run();
}

/** Stands for any name in a folder. */
const ANYTHING = parseRelPath('assay-anything');

interface Start {
  readonly base: RelPath;
  readonly rules: IgnoreRules;
}

class Scan {
  readonly #request: RunRequest;
  readonly #observations: StatRecorder;
  readonly #digests: FileDigests;
  readonly #patterns: Patterns;
  readonly #found = new Map<RelPath, Entry>();
  readonly #outputs: ReadonlySet<RelPath>;
  readonly #matched = new Set<CompiledPattern>();
  /** By folder; undefined for the parents of the workspace. */
  readonly #rules = new Map<RelPath | undefined, IgnoreRules>();
  #hiddenPaths = 0;

  constructor(request: RunRequest, observations: StatRecorder, digests: FileDigests) {
    this.#request = request;
    this.#observations = observations;
    this.#digests = digests;
    this.#outputs = new Set(request.outputs);
    this.#patterns = compilePatterns(observations, request.inputs);
  }

  run(): InputScan {
    for (const start of this.#starts()) this.#walkFrom(start);
    for (const pattern of this.#patterns.takes) this.#checkMatched(pattern);
    const entries = [...this.#found.values()];
    return {
      entries,
      strayLinks: entries.flatMap((entry) => (this.#isStrayLink(entry) ? [entry.path] : [])),
    };
  }

  /** The folders to scan: one per pattern, without those inside another with the same rules. */
  #starts(): Start[] {
    const starts: Start[] = [];
    const wider = (a: Start, b: Start) =>
      isWithin(b.base, a.base) && (a.rules === HIDES_NOTHING || b.rules !== HIDES_NOTHING);
    for (const pattern of this.#patterns.takes) {
      const start = { base: pattern.base, rules: this.#rulesAt(pattern) };
      if (starts.some((other) => wider(other, start))) continue;
      starts.splice(0, starts.length, ...starts.filter((other) => !wider(start, other)), start);
    }
    return starts;
  }

  /**
   * The ignore rules at a pattern's base. A path that a pattern names exactly counts even if they hide it.
   */
  #rulesAt(pattern: CompiledPattern): IgnoreRules {
    const { includeIgnored } = this.#request;
    this.#refuseOutput(pattern);
    this.#refuseLinkOnTheWay(pattern.base);
    if (includeIgnored) return HIDES_NOTHING;
    const rules = this.#rulesAround(pattern.base);
    const named = pattern.literal && pattern.base !== ROOT;
    return named && rules.hides(pattern.base, this.#observations.lstat(pattern.base)?.isDirectory() ?? false)
      ? HIDES_NOTHING
      : rules;
  }

  /** The rules of all parents of a path; read once for all patterns. */
  #rulesAround(path: RelPath): IgnoreRules {
    const folder = path === ROOT ? undefined : parentOf(path);
    const known = this.#rules.get(folder);
    if (known) return known;
    const rules =
      folder === undefined
        ? rulesAbove(this.#observations)
        : rulesWithin(this.#rulesAround(folder), this.#observations, folder);
    this.#rules.set(folder, rules);
    return rules;
  }

  #refuseOutput(pattern: CompiledPattern): void {
    if (!this.#request.outputs.some((output) => isWithin(pattern.base, output))) return;
    const detail = `the input ${JSON.stringify(pattern.source)} lies in an output of the same action`;
    throw new AssayError('ASSAY_OUTPUT_OVERLAP', detail);
  }

  #refuseLinkOnTheWay(base: RelPath): void {
    const link = ancestors(base).find(
      (folder) => folder !== ROOT && this.#observations.lstat(folder)?.isSymbolicLink(),
    );
    if (link === undefined) return;
    const detail = `${base} lies behind the symbolic link ${link}: declare the link and what it points to by its own path`;
    throw new AssayError('ASSAY_INPUT_UNREADABLE', detail);
  }

  #walkFrom({ base, rules }: Start): void {
    const stats = this.#observations.lstat(base);
    if (stats?.isDirectory()) this.#walk(base, rules);
    else if (stats && this.#takes(base)) this.#add(base, stats);
  }

  #walk(folder: RelPath, above: IgnoreRules): void {
    const listed = this.#observations.list(folder);
    if (listed.length === 0) this.#addEmptyFolder(folder);
    const extended = above !== HIDES_NOTHING && listed.some(isIgnoreFile);
    const rules = extended ? rulesWithin(above, this.#observations, folder) : above;
    const prefix = folder === ROOT ? '' : `${folder}/`;
    for (const { name, isFolder } of listed) {
      const path = (prefix + name) as RelPath;
      if (isPrivateFolder(name) || this.#outputs.has(path)) continue;
      if (rules.hides(path, isFolder)) this.#hiddenPaths++;
      else if (isFolder) this.#walk(path, rules);
      else if (this.#takes(path)) this.#add(path, this.#observations.lstat(path));
    }
  }

  /** Tests every pattern until each has matched once, to detect one that matches nothing. */
  #takes(path: RelPath): boolean {
    let taken = false;
    for (const pattern of this.#patterns.takes) {
      if (taken && this.#matched.has(pattern)) continue;
      if (!pattern.matches(path)) continue;
      taken = true;
      this.#matched.add(pattern);
      if (this.#matched.size === this.#patterns.takes.length) break;
    }
    return taken && !this.#patterns.excludes(path);
  }

  #add(path: RelPath, stats: Stats | undefined): void {
    if (!stats || this.#found.has(path)) return;
    const locate = () => toSystemPath(this.#request.workspace, path);
    if (stats.isFile()) {
      const digest = this.#digests.digest(path, stats, locate);
      this.#found.set(path, { kind: 'file', path, digest, executable: (stats.mode & 0o100) !== 0 });
    } else if (stats.isSymbolicLink()) {
      const target = nameFromBytes(readlinkSync(locate(), 'buffer'));
      this.#found.set(path, { kind: 'symlink', path, target });
    } else if (this.#patterns.takes.some(({ literal, base }) => literal && base === path)) {
      throw new AssayError(
        'ASSAY_INPUT_UNREADABLE',
        `${path} is neither a file, a folder nor a symbolic link`,
      );
    }
  }

  /** A link whose target does not exist in the workspace is not stray. */
  #isStrayLink(entry: Entry): boolean {
    if (entry.kind !== 'symlink') return false;
    const target = targetInWorkspace(entry.path, entry.target);
    if (target === undefined) return true;
    const isInput = this.#found.has(target) || this.#takes(target) || this.#takes(join(target, ANYTHING));
    return !isInput && this.#observations.lstat(target) !== undefined;
  }

  /** An empty folder that holds an output does not count, because it may exist or not. */
  #addEmptyFolder(path: RelPath): void {
    const holdsOutput = this.#request.outputs.some((output) => isWithin(output, path));
    if (!holdsOutput && this.#takes(path)) this.#found.set(path, { kind: 'directory', path });
  }

  #checkMatched(pattern: CompiledPattern): void {
    if (pattern.optional || this.#matched.has(pattern)) return;
    throw new AssayError(
      'ASSAY_INPUT_MATCHES_NOTHING',
      `${JSON.stringify(pattern.source)}${this.#whyNothing(pattern)}`,
    );
  }

  #whyNothing({ base }: CompiledPattern): string {
    if (this.#observations.lstat(base)?.isSymbolicLink()) {
      const target = readlinkSync(toSystemPath(this.#request.workspace, base));
      return ` (${base} is a symbolic link to ${target}, and no pattern goes through a link: declare ${base}, and what it points to by its own path)`;
    }
    return this.#hiddenPaths > 0
      ? ' (.gitignore hides some paths here: --include-ignored takes them too)'
      : '';
  }
}

function isIgnoreFile({ name }: { readonly name: string }): boolean {
  return name === '.gitignore';
}

/** The parents of a path, from the workspace down. */
function ancestors(path: RelPath): RelPath[] {
  if (path === ROOT) return [];
  const parent = parentOf(path);
  return [...ancestors(parent), parent];
}
