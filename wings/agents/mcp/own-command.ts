// Starts this very `assay` again as a process, and ends it with all that it started.
// Guarantee: after `end`, no process of its tree lives: first as a person ends it, then by force.
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { remoteToken } from '../../../client/remote/token.ts';
import { bun } from '../../../core/bun.ts';
import { AGENTS } from '../limits.ts';

interface OwnCommand {
  readonly folder: string;
  readonly args: readonly string[];
  readonly signal: AbortSignal;
  onLine(line: string): void;
}

interface OwnEnd {
  readonly exitCode: number;
  /** The end of its standard error. */
  readonly said: string;
}

/** Resolves when the process has ended, also after an abort. */
export function runOwn({ folder, args, signal, onLine }: OwnCommand): Promise<OwnEnd> {
  const [file = '', ...first] = bun ? [process.execPath] : [process.execPath, process.argv[1] ?? ''];
  const token = remoteToken();
  const env = { ...process.env, ...(token !== undefined && { ASSAY_TOKEN: token }) };
  const child = spawn(file, [...first, ...args], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  let rest = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-AGENTS.saidBytes);
  });
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(line);
  });
  let timer: NodeJS.Timeout | undefined;
  const stop = () => {
    child.kill('SIGTERM');
    timer ??= setTimeout(() => killTree(child.pid), AGENTS.graceMs);
  };
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  return new Promise((resolve, reject) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
    };
    child.once('error', (error) => {
      done();
      reject(error);
    });
    child.once('close', (code) => {
      done();
      resolve({ exitCode: code ?? 1, said });
    });
  });
}

/** The deepest first, so that nobody starts anew what has just ended. */
function killTree(pid: number | undefined): void {
  if (pid === undefined) return;
  for (const one of [...treeOf(pid)].reverse()) {
    try {
      process.kill(one, 'SIGKILL');
    } catch {
      // It has ended.
    }
  }
}

function treeOf(pid: number): Set<number> {
  const tree = new Set([pid]);
  for (const one of tree) for (const child of childrenOf(one)) tree.add(child);
  return tree;
}

function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
    );
  } catch {
    return [];
  }
}
