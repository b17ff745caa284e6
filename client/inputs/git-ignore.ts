// The rules of .gitignore files, folder by folder, as git applies them: the deepest file with a matching rule
// wins.
//
// A .gitignore that is a symbolic link is ignored, as in git. Only files inside the repository count: a
// user's own excludes and .git/info/exclude differ between machines, and a checkout must give the same key
// everywhere.
import { readFileSync } from 'node:fs';
import { dirname, join as joinPath, relative } from 'node:path';
import ignore, { type Ignore } from 'ignore';
import { join, parseRelPath, type RelPath, toSystemPath } from '../../core/path.ts';
import type { StatRecorder } from '../files/stat-recorder.ts';

/** The rules in force in one folder: its own and those of its parents. */
export interface IgnoreRules {
  hides(path: RelPath, isFolder: boolean): boolean;
}

const IGNORE_FILE = parseRelPath('.gitignore');

interface RuleFile {
  readonly rules: Ignore;
  /** Path from the .gitignore's folder to the workspace ("packages/a/"), for files above the workspace. */
  readonly prefix: string;
  /** Length of the path from the workspace to the .gitignore's folder ("src/"), for files inside it. */
  readonly strip: number;
}

/** Also in every folder below: no .gitignore is read. */
export const HIDES_NOTHING: IgnoreRules = { hides: () => false };

/** The rules of the workspace's parents, up to the repository's root. */
export function rulesAbove(observations: StatRecorder): IgnoreRules {
  const { workspace } = observations;
  const root = repositoryRoot(observations);
  if (root === undefined || root === workspace) return decide([]);
  const files: RuleFile[] = [];
  for (let folder = dirname(workspace); ; folder = dirname(folder)) {
    const file = joinPath(folder, '.gitignore');
    const rules = observations.lstatAbove(file)?.isFile() ? readRules(file) : undefined;
    if (rules) files.push({ rules, prefix: `${relative(folder, workspace)}/`, strip: 0 });
    if (folder === root) break;
  }
  return decide(files.reverse());
}

/** `above` plus the .gitignore of `folder`, if there is one. */
export function rulesWithin(above: IgnoreRules, observations: StatRecorder, folder: RelPath): IgnoreRules {
  const path = join(folder, IGNORE_FILE);
  const rules = observations.lstat(path)?.isFile()
    ? readRules(toSystemPath(observations.workspace, path))
    : undefined;
  if (!rules) return above;
  const strip = folder === '' ? 0 : folder.length + 1;
  const inherited = filesOf.get(above) ?? [];
  return decide([...inherited, { rules, prefix: '', strip }]);
}

/** Lets a deeper folder extend the list without showing it in the interface. */
const filesOf = new WeakMap<IgnoreRules, readonly RuleFile[]>();

function decide(files: readonly RuleFile[]): IgnoreRules {
  const rules: IgnoreRules = {
    hides(path, isFolder) {
      const name = isFolder ? `${path}/` : path;
      for (let index = files.length - 1; index >= 0; index--) {
        const file = files[index];
        const verdict = file?.rules.test(file.prefix + name.slice(file.strip));
        if (verdict?.ignored) return true;
        if (verdict?.unignored) return false;
      }
      return false;
    },
  };
  filesOf.set(rules, files);
  return rules;
}

function readRules(file: string | Buffer): Ignore | undefined {
  try {
    return compiled(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

/** The last compiled text: the steps of a graph mostly share one file. */
let last: { readonly text: string; readonly rules: Ignore } | undefined;

function compiled(text: string): Ignore {
  if (last?.text !== text) last = { text, rules: ignore({ ignorecase: false }).add(text) };
  return last.rules;
}

function repositoryRoot(observations: StatRecorder): string | undefined {
  for (let folder = observations.workspace; ; folder = dirname(folder)) {
    if (observations.lstatAbove(joinPath(folder, '.git'))) return folder;
    if (folder === dirname(folder)) return undefined;
  }
}
