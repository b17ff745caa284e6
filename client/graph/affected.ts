// The steps that a change reaches, as git tells it: what differs between here and where the branch left REF, committed or
// not. A step is reached if a changed path would be among its inputs, if its own declaration may have changed, or if a
// step that it depends on is reached.
import { execFileSync } from 'node:child_process';
import { AssayError } from '../../core/errors.ts';
import { isWithin, nameFromBytes, parseRelPath, type RelPath } from '../../core/path.ts';
import { requestOf } from '../config/request.ts';
import type { Step } from '../config/step.ts';
import type { Variables } from '../environment.ts';
import { Coverage } from '../inputs/coverage.ts';
import { keptBy } from '../request.ts';
import type { StepTable } from './graph.ts';

export interface Change {
  readonly root: string;
  readonly steps: StepTable;
  readonly caller: Variables;
}

/** `ref`: "" for where the branch left the main one. */
export function affectedBy(ref: string, change: Change): Set<string> {
  const { root, steps } = change;
  const changed = changedPaths(root, ref === '' ? mainBranch(change) : ref);
  const reached = new Set<string>();
  for (const step of steps.values()) if (isReached(step, changed, change)) reached.add(step.id);
  for (let grown = -1; grown !== reached.size; ) {
    grown = reached.size;
    for (const { id, dependsOn } of steps.values())
      if (dependsOn.some((one) => reached.has(one))) reached.add(id);
  }
  return reached;
}

const DECLARATIONS: readonly string[] = ['assay.json', 'package.json', 'pnpm-workspace.yaml'];

function isReached(step: Step, changed: readonly RelPath[], { root, steps, caller }: Change): boolean {
  const coverage = new Coverage(requestOf(step, { root, steps }, caller).request);
  const declarations = [step.folder, ''].flatMap((folder) =>
    DECLARATIONS.map((name) => (folder === '' ? name : `${folder}/${name}`)),
  );
  const tools = [...step.tools, ...step.programs].map((tool) => tool.replace(/^\.\//, ''));
  return changed.some((path) => declarations.includes(path) || tools.includes(path) || coverage.covers(path));
}

/** Also those that are not committed, and those that git does not know yet. */
function changedPaths(root: string, ref: string): RelPath[] {
  const top = git(root, 'rev-parse', '--show-toplevel').toString().trimEnd();
  const base = git(root, 'merge-base', ref, 'HEAD').toString().trimEnd();
  const committed = git(root, 'diff', '--name-only', '--no-renames', '--no-relative', '-z', base);
  const unknown = git(top, 'ls-files', '--others', '--exclude-standard', '-z');
  const folder = git(root, 'rev-parse', '--show-prefix').toString().trimEnd();
  return [committed, unknown].flatMap(namesIn).flatMap((path) => below(folder, path));
}

function namesIn(listed: Buffer): string[] {
  const names: string[] = [];
  for (let start = 0; start < listed.length; ) {
    const end = listed.indexOf(0, start);
    names.push(listed.subarray(start, end).toString('latin1'));
    start = end + 1;
  }
  return names;
}

/** Paths of git are bytes, from the repository's top; those outside the workspace reach nothing. */
function below(folder: string, latin1: string): RelPath[] {
  const bytes = Buffer.from(latin1, 'latin1');
  const prefix = Buffer.from(folder);
  if (!bytes.subarray(0, prefix.length).equals(prefix)) return [];
  const parts = bytes.subarray(prefix.length).toString('latin1').split('/');
  return [parseRelPath(parts.map((part) => nameFromBytes(Buffer.from(part, 'latin1'))).join('/'))];
}

/** What CI says the change goes into, else the usual names. */
function mainBranch({ root, caller }: Change): string {
  const target = caller.GITHUB_BASE_REF || caller.CI_MERGE_REQUEST_TARGET_BRANCH_NAME;
  const candidates = [
    ...(target ? [`origin/${target}`] : []),
    'origin/HEAD',
    'origin/main',
    'origin/master',
    'main',
    'master',
  ];
  const found = candidates.find((name) => isCommit(root, name));
  if (found !== undefined) return found;
  throw new AssayError('ASSAY_USAGE', 'git knows no main branch here: say --affected=REF');
}

function isCommit(root: string, name: string): boolean {
  try {
    git(root, 'rev-parse', '--verify', '--quiet', `${name}^{commit}`);
    return true;
  } catch {
    return false;
  }
}

function git(folder: string, ...args: readonly string[]): Buffer {
  try {
    return execFileSync('git', [...args], {
      cwd: folder,
      maxBuffer: 2 ** 30,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  } catch (error) {
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : String(error);
    throw new AssayError('ASSAY_USAGE', `git can’t tell what changed: ${said}`, { cause: error });
  }
}

/** True for what a step makes or keeps for itself: not a change of anything. */
export function isOutput(path: RelPath, steps: StepTable): boolean {
  return steps
    .values()
    .some((step) => [...step.outputs, ...keptBy(step)].some((output) => isWithin(path, output)));
}
