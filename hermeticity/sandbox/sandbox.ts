// The sandbox: bubblewrap hides everything that an action did not declare. A step that passes in the sandbox
// cannot depend on anything hidden.
//
// Visible: the staged workspace at a fixed path, installed software read-only, an empty home and /tmp, its
// own processes, host name, user and umask. Hidden: the network, other processes, /etc/passwd and similar
// files, every other file. Works for root and, where user namespaces are allowed, for every user.
import { execFile } from 'node:child_process';
import { existsSync, lstatSync, readdirSync, readlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { AssayError, messageOf } from '../../core/errors.ts';
import type { RelPath } from '../../core/path.ts';
import { type AbsPath, absPath, isAtOrBelow } from '../../system/paths/absolute-path.ts';
import { INSTALLED_SOFTWARE } from '../../system/paths/installed-software.ts';
import { HERMETICITY } from '../limits.ts';
import type { Availability } from '../trace/tracer.ts';
import { StagedWorkspace } from './staged-workspace.ts';

/** Fixed paths, so that a path in an output is the same on every machine. */
export const SANDBOX = {
  workspace: '/workspace',
  home: '/home/assay',
  tmp: '/tmp',
  /** Declared tools outside the fixed PATH. */
  bin: '/assay/bin',
  tracer: '/assay/trace',
  host: 'assay',
  user: 1000,
} as const;

/** Settings of installed software, by name in /etc. The rest of /etc is about the machine and its users. */
const SETTINGS = /^(?:alternatives|ca-certificates|fonts|java.*|ld\.so\..*|perl|python3.*|ssl)$/;

export interface SandboxRequest {
  readonly workspace: string;
  /** Every declared file, link and empty folder. */
  readonly inputs: Iterable<RelPath>;
  readonly outputs: readonly RelPath[];
  readonly argv: readonly [string, ...string[]];
  readonly workingDirectory: RelPath;
  /** The sandbox replaces HOME and TMPDIR. */
  readonly env: Readonly<Record<string, string>>;
  /**
   * Declared tools outside the installed software, their installations, and the paths at which to mount them.
   */
  readonly mounts: readonly Mount[];
}

/** A path of the machine, mounted read-only in the sandbox. */
export interface Mount {
  readonly from: AbsPath;
  readonly at: AbsPath;
}

export interface Sandboxed {
  /** The argv to run instead of the command; exit code and output are the command's. */
  readonly argv: readonly [string, ...string[]];
  /** The same for another command in the same sandbox. */
  wrap(argv: readonly [string, ...string[]]): [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Call this after the command: moves the declared outputs to the workspace. */
  collect(): void;
  /** Removes the staged workspace, whether or not outputs were collected. */
  remove(): void;
}

/** Stages the declared inputs and returns the argv that runs the command in the sandbox. */
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

/** Whether a sandbox works here; if not, bubblewrap's own message. */
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

/** Searched on the caller's PATH, not the action's. */
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

/** Whether the path belongs to installed software, which every sandbox shows. */
export function isInstalledSoftware(path: AbsPath): boolean {
  const setting = /^\/etc\/([^/]+)/.exec(path)?.[1];
  if (setting !== undefined) return SETTINGS.test(setting);
  return INSTALLED_SOFTWARE.some((folder) => isAtOrBelow(path, absPath(folder)));
}

/** Keeps a link a link: programs that resolve it see the same names as outside. */
function bindOrLink(path: string): string[] {
  if (!existsSync(path)) return [];
  return lstatSync(path).isSymbolicLink()
    ? ['--symlink', readlinkSync(path), path]
    : ['--ro-bind', path, path];
}

/** bubblewrap keeps the caller's umask, so a shell sets a fixed one. */
function withUmask(argv: readonly [string, ...string[]]): string[] {
  return ['/bin/sh', '-c', 'umask 022 && exec "$@"', 'sh', ...argv];
}
