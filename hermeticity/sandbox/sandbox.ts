// The sandbox: bubblewrap takes away what an action did not declare, so that a step that passes in it can't depend on what
// it could not see.
//
// What is there: the staged workspace at one fixed path, installed software read-only, an empty home and /tmp, its own
// processes, an own host name, user and umask. What is not: the network, other processes, /etc/passwd and the like, every
// file outside of these. Works for root and, where user namespaces are allowed, for everybody.
import { execFile } from 'node:child_process';
import { existsSync, lstatSync, readdirSync, readlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { AssayError, messageOf } from '../../core/errors.ts';
import type { RelPath } from '../../core/path.ts';
import { HERMETICITY } from '../limits.ts';
import { type AbsPath, absPath, isAtOrBelow } from '../system/absolute-path.ts';
import { INSTALLED_SOFTWARE } from '../system/installed-software.ts';
import type { Availability } from '../trace/tracer.ts';
import { StagedWorkspace } from './staged-workspace.ts';

/** The same on every machine, so that a path that ends up in an output is too. */
export const SANDBOX = {
  workspace: '/workspace',
  home: '/home/assay',
  tmp: '/tmp',
  /** Where programs are found that lie beyond the fixed PATH. */
  bin: '/assay/bin',
  tracer: '/assay/trace',
  host: 'assay',
  user: 1000,
} as const;

/** Settings of that software, by their names in /etc; the rest of /etc is about the machine and its users. */
const SETTINGS = /^(?:alternatives|ca-certificates|fonts|java.*|ld\.so\..*|perl|python3.*|ssl)$/;

export interface SandboxRequest {
  readonly workspace: string;
  /** Every declared file, link and empty folder. */
  readonly inputs: Iterable<RelPath>;
  readonly outputs: readonly RelPath[];
  readonly argv: readonly [string, ...string[]];
  readonly workingDirectory: RelPath;
  /** HOME and TMPDIR in it are replaced. */
  readonly env: Readonly<Record<string, string>>;
  /** Declared tools outside of the installed software, what came with them, and where they are to be seen. */
  readonly mounts: readonly Mount[];
}

/** Something of the machine that is shown in the sandbox, read-only. */
export interface Mount {
  readonly from: AbsPath;
  readonly at: AbsPath;
}

export interface Sandboxed {
  /** What to run in place of the command, with the same expectations of its exit code and output. */
  readonly argv: readonly [string, ...string[]];
  /** The same for another command in the same sandbox. */
  wrap(argv: readonly [string, ...string[]]): [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** To be called after the command: brings back the declared outputs. */
  collect(): void;
  /** Takes the stage away, whether or not anything was collected. */
  remove(): void;
}

/** Lays out the declared inputs and says how to run the command among nothing else. */
export function sandboxed(request: SandboxRequest): Sandboxed {
  const staged = new StagedWorkspace(request.workspace, request.inputs, request.outputs);
  const inner =
    request.workingDirectory === '' ? SANDBOX.workspace : `${SANDBOX.workspace}/${request.workingDirectory}`;
  const wrap = (argv: readonly [string, ...string[]]): [string, ...string[]] => [
    bubblewrap() ?? 'bwrap',
    ...isolation(),
    ...installedSoftware(),
    ...['--bind', staged.root, SANDBOX.workspace],
    ...request.mounts.flatMap(({ from, at }) => ['--ro-bind', from, at]),
    ...['--chdir', inner, '--'],
    ...withUmask(argv),
  ];
  return {
    argv: wrap(request.argv),
    wrap,
    env: { ...request.env, HOME: SANDBOX.home, TMPDIR: SANDBOX.tmp },
    cwd: '/',
    collect: () => staged.collect(),
    remove: () => staged.remove(),
  };
}

/** Whether a sandbox can be made here, and if not, in bubblewrap's own words, why. */
export async function sandboxAvailable(): Promise<Availability> {
  const program = bubblewrap();
  if (program === undefined) return { available: false, reason: 'bubblewrap (bwrap) is not installed' };
  try {
    await promisify(execFile)(program, [...isolation(), ...installedSoftware(), '--', '/bin/true'], {
      timeout: HERMETICITY.trialMs,
    });
    return { available: true };
  } catch (error) {
    return {
      available: false,
      reason: messageOf(error).split('\n').filter(Boolean).at(-1) ?? 'bwrap failed',
    };
  }
}

export async function requireSandbox(): Promise<void> {
  const trial = await sandboxAvailable();
  if (!trial.available) throw new AssayError('ASSAY_NO_SANDBOX', trial.reason);
}

/** By the caller's PATH, not the action's. */
function bubblewrap(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return folders.map((folder) => join(folder, 'bwrap')).find((file) => existsSync(file));
}

function isolation(): string[] {
  const user = String(SANDBOX.user);
  return [
    ...['--unshare-all', '--unshare-user', '--die-with-parent', '--new-session'],
    ...['--uid', user, '--gid', user, '--hostname', SANDBOX.host],
    ...['--proc', '/proc', '--dev', '/dev', '--tmpfs', SANDBOX.tmp, '--tmpfs', SANDBOX.home],
  ];
}

function installedSoftware(): string[] {
  const settings = readdirSync('/etc').filter((name) => SETTINGS.test(name));
  return [...INSTALLED_SOFTWARE, ...settings.map((name) => `/etc/${name}`)].flatMap(bindOrLink);
}

/** It lies, or would lie, among the installed software, and is seen in every sandbox. */
export function isInstalledSoftware(path: AbsPath): boolean {
  const setting = /^\/etc\/([^/]+)/.exec(path)?.[1];
  if (setting !== undefined) return SETTINGS.test(setting);
  return INSTALLED_SOFTWARE.some((folder) => isAtOrBelow(path, absPath(folder)));
}

/** A link stays a link: programs that resolve it find the same names as outside. */
function bindOrLink(path: string): string[] {
  if (!existsSync(path)) return [];
  return lstatSync(path).isSymbolicLink()
    ? ['--symlink', readlinkSync(path), path]
    : ['--ro-bind', path, path];
}

/** bubblewrap keeps the caller's umask; a shell in between gives everybody the same. */
function withUmask(argv: readonly [string, ...string[]]): string[] {
  return ['/bin/sh', '-c', 'umask 022 && exec "$@"', 'sh', ...argv];
}
