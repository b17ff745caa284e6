// Drives `assay` as a person does: as a process. A Workshop is a temporary folder with a workspace and a
// store in it.
import { spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { HitReceipt } from '../../client/run/receipt.ts';
import { learnPrograms, teachPrograms } from './stores/known-programs.ts';
import { AS_ORDINARY_USER, AS_ROOT } from './users.ts';

const PROJECT = join(import.meta.dirname, '..', '..');

/** The three forms in which Assay is run: from source, as the bundle for Node, as the compiled executable. */
export const FORMS = {
  source: [process.execPath, join(PROJECT, 'bin', 'assay.ts')],
  bundle: [process.execPath, join(PROJECT, 'dist', 'node', 'assay.cjs')],
  executable: [join(PROJECT, 'dist', 'assay')],
} as const;

export type Form = keyof typeof FORMS;

/**
 * The form that tests start unless they ask for another. The bundle starts in half the CPU time of the
 * sources, and its code is the same. Where a source is newer than the bundle, tests start the sources, so
 * that they never test old code.
 */
export const DEFAULT_FORM: 'bundle' | 'source' = isBundleCurrent() ? 'bundle' : 'source';

/**
 * The form in which a Workshop starts `assay`, and a test a command of the client: the executable, as people install it.
 * It takes half the CPU time of the bundle.
 */
export const CLIENT_FORM: Form = DEFAULT_FORM === 'bundle' ? 'executable' : 'source';

/**
 * The forms of tests that must hold in each runtime: Node and Bun. test/client/run/promises.test.ts starts
 * the sources too.
 */
export const RUNTIME_FORMS: readonly Form[] = [DEFAULT_FORM, 'executable'];

function isBundleCurrent(): boolean {
  const bundle = statSync(FORMS.bundle[1], { throwIfNoEntry: false });
  return bundle !== undefined && newestSource() <= bundle.mtimeMs;
}

function newestSource(): number {
  const rooms = ['bin', 'client', 'core', 'hermeticity', 'server', 'store', 'system', 'wings'];
  const files = rooms.flatMap((room) =>
    readdirSync(join(PROJECT, room), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts') && !/^[^/]+\/(test|bench)\//.test(path))
      .map((path) => join(PROJECT, room, path)),
  );
  return Math.max(...files.map((file) => statSync(file).mtimeMs));
}

export interface Ran {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Summary {
  readonly outcome: 'hit-local' | 'hit-remote' | 'miss';
  readonly key: string;
  readonly exitCode: number;
  readonly reason: string;
  readonly published: boolean;
  readonly shared: boolean;
  readonly outputsWritten: number;
  readonly status: 'declared' | 'observed' | 'unproven' | 'unwatched';
  readonly findings?: readonly { readonly kind: string; readonly path?: string }[];
  readonly notPublished?: string;
  readonly page?: string;
  readonly checked?: 'same' | 'different' | 'unstable';
  readonly receipt?: HitReceipt;
  readonly actionLease: 'held' | 'waited' | 'hedged' | 'none';
  readonly leaseWaitedMs: number;
  readonly warnings: readonly string[];
}

export type RanWithSummary = Ran & { readonly summary: Summary };

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly form?: Form;
  /** Called with all that has been said, each time when something was. */
  readonly onSaid?: ((said: Pick<Ran, 'stdout' | 'stderr'>) => void) | undefined;
}

export class Workshop {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), 'assay-test-')));
  readonly workspace = join(this.folder, 'workspace');
  readonly store = join(this.folder, 'store');

  constructor() {
    mkdirSync(this.workspace);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Another workspace beside the first. */
  another(name: string): string {
    const folder = join(this.folder, name);
    mkdirSync(folder);
    return folder;
  }

  write(path: string, content: string | Uint8Array, mode = 0o644, workspace = this.workspace): string {
    const file = join(workspace, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    chmodSync(file, mode);
    return file;
  }

  script(path: string, ...lines: string[]): string {
    return this.write(path, ['#!/bin/sh', 'set -e', ...lines, ''].join('\n'), 0o755);
  }

  link(path: string, target: string): void {
    const file = join(this.workspace, path);
    mkdirSync(dirname(file), { recursive: true });
    symlinkSync(target, file);
  }

  has(path: string): boolean {
    return existsSync(join(this.workspace, path));
  }

  /**
   * Any command of `assay`, with this workshop's store and nothing of the caller's environment but PATH and
   * HOME.
   */
  async assay(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
    const store = args.includes('--store') ? (args[args.indexOf('--store') + 1] ?? '') : this.store;
    const isNew = args[0] === 'run' && teachPrograms(store);
    const ran = await runProcess([...FORMS[options.form ?? CLIENT_FORM], ...args], {
      cwd: options.cwd ?? this.workspace,
      env: { ...baseEnvironment(), ASSAY_STORE: this.store, ...options.env },
      onSaid: options.onSaid,
    });
    if (isNew) learnPrograms(store);
    return ran;
  }

  /** The same through a program that starts another one. */
  assayIn(wrapper: readonly string[], args: readonly string[], options: RunOptions = {}): Promise<Ran> {
    return runProcess([...wrapper, ...FORMS[options.form ?? CLIENT_FORM], ...args], {
      cwd: options.cwd ?? this.workspace,
      env: { ...baseEnvironment(), ASSAY_STORE: this.store, ...options.env },
    });
  }

  /** The same for a user without root's rights. */
  assayAsOrdinaryUser(args: readonly string[]): Promise<Ran> {
    return this.assayIn(AS_ORDINARY_USER, args, { env: { HOME: this.folder } });
  }

  /** The same for root. sudo drops the environment, so `env` sets it. */
  assayAsRoot(args: readonly string[]): Promise<Ran> {
    const env = Object.entries({ ...baseEnvironment(), ASSAY_STORE: this.store });
    return this.assayIn([...AS_ROOT, 'env', ...env.map(([name, value]) => `${name}=${value}`)], args);
  }

  async run(args: readonly string[], options: RunOptions = {}): Promise<RanWithSummary> {
    const ran = await this.assay(['run', '--json', ...args], options);
    return { ...ran, summary: summaryOf(ran) };
  }
}

/**
 * With the cache of compiled sources that bin/assay uses: a start from source takes a quarter of the time.
 */
export function baseEnvironment(): Record<string, string> {
  const { PATH = '', HOME = '/' } = process.env;
  return {
    PATH,
    HOME,
    NODE_COMPILE_CACHE: join(PROJECT, 'node_modules', '.cache', 'assay'),
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
  };
}

export function runProcess(
  [program = '', ...args]: readonly string[],
  {
    onSaid,
    ...options
  }: { cwd: string; env: Readonly<Record<string, string>>; onSaid?: RunOptions['onSaid'] },
): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    const said = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (text: string) => {
        said[name] += text;
        onSaid?.(said);
      });
    }
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal, ...said }));
  });
}

export function summaryOf(ran: Ran): Summary {
  const line = ran.stderr.trimEnd().split('\n').at(-1) ?? '';
  try {
    return JSON.parse(line);
  } catch {
    throw new Error(`no summary in the last line of standard error:\n${ran.stderr}`);
  }
}
