// The paths that differ from the commit where the branch left another one, as git reports them. Committed,
// uncommitted and untracked changes count. Only .gitignore files in the repository ignore paths, as in
// inputs/git-ignore.ts.
import { execFileSync } from 'node:child_process';
import { AssayError, isSystemError } from '../../core/errors.ts';
import { nameFromBytes, parseRelPath, type RelPath } from '../../core/path.ts';
import type { Variables } from '../action/environment.ts';

export interface ChangedPath {
  readonly path: RelPath;
  /** A nested repository, submodule or not. git does not report what changed inside it. */
  readonly isRepository: boolean;
}

/** `ref`: "" for the main branch. Paths outside `root` are left out. `flag`: who asks, for errors. */
export function changedPaths(
  root: string,
  ref: string,
  caller: Variables,
  flag = '--affected',
): ChangedPath[] {
  try {
    return changedSince(root, ref, caller);
  } catch (error) {
    if (error instanceof AssayError) throw new AssayError(error.code, `${flag} failed: ${error.detail}`);
    throw error;
  }
}

function changedSince(root: string, ref: string, caller: Variables): ChangedPath[] {
  const top = git(root, 'rev-parse', '--show-toplevel').toString().replace(/\n$/, '');
  const folder = git(root, 'rev-parse', '--show-prefix').toString().replace(/\n$/, '');
  const base = commonAncestor(root, ref === '' ? mainBranch(root, caller) : ref);
  const known = git(
    root,
    ...['diff', '--raw', '-z', '--no-renames', '--no-relative', '--ignore-submodules=none', base],
  );
  const unknown = git(top, 'ls-files', '--others', '--exclude-per-directory=.gitignore', '-z');
  return [...inDiff(known), ...inListing(unknown)].flatMap((one) => below(folder, one));
}

interface NamedPath {
  /** Bytes as latin1, relative to the top of the repository. */
  readonly name: string;
  readonly isRepository: boolean;
}

/** `git diff --raw -z` gives two pieces for each path: modes and digests, then the name. */
function* inDiff(listed: Buffer): Generator<NamedPath> {
  const pieces = piecesOf(listed);
  for (let at = 0; at + 1 < pieces.length; at += 2)
    yield { name: pieces[at + 1] ?? '', isRepository: /\b160000\b/.test(pieces[at] ?? '') };
}

function inListing(listed: Buffer): NamedPath[] {
  return piecesOf(listed).map((name) => ({
    name: name.replace(/\/$/, ''),
    isRepository: name.endsWith('/'),
  }));
}

function piecesOf(listed: Buffer): string[] {
  return listed.toString('latin1').split('\0').slice(0, -1);
}

function below(folder: string, { name, isRepository }: NamedPath): ChangedPath[] {
  const prefix = Buffer.from(folder).toString('latin1');
  if (!name.startsWith(prefix)) return [];
  const parts = name.slice(prefix.length).split('/');
  const path = parseRelPath(parts.map((part) => nameFromBytes(Buffer.from(part, 'latin1'))).join('/'));
  return [{ path, isRepository }];
}

function commonAncestor(root: string, ref: string): string {
  const commit = commitOf(root, ref);
  if (commit === undefined) throw unknown(`there is no commit ${JSON.stringify(ref)} here`);
  try {
    return git(root, 'merge-base', commit, 'HEAD').toString().trimEnd();
  } catch {
    throw unknown(
      `${ref} and HEAD share no commit here; a shallow clone may need more history: git fetch --unshallow`,
    );
  }
}

/** The target branch that CI names, else the usual names of a main branch. */
function mainBranch(root: string, caller: Variables): string {
  const target = caller.GITHUB_BASE_REF || caller.CI_MERGE_REQUEST_TARGET_BRANCH_NAME;
  const candidates = [
    ...(target ? [`origin/${target}`] : []),
    'origin/HEAD',
    'origin/main',
    'origin/master',
    'main',
    'master',
  ];
  const found = candidates.find((name) => commitOf(root, name) !== undefined);
  if (found !== undefined) return found;
  throw unknown('git finds no main branch here: pass --affected=REF');
}

function commitOf(root: string, name: string): string | undefined {
  try {
    const output = git(root, 'rev-parse', '--verify', '--quiet', `${name}^{commit}`);
    return output.toString().trimEnd();
  } catch {
    return undefined;
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
    if (isSystemError(error, 'ENOENT')) throw unknown('git is not on PATH');
    throw unknown(error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : String(error));
  }
}

function unknown(why: string): AssayError {
  return new AssayError('ASSAY_USAGE', why);
}
