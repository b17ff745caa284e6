// Starts a command and stops it at its gates: places where it tells its process id and waits for a signal.
// A gate lets the oracle edit files at a known moment of a run, without a sleep and without a file that the command sees.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** The gates at which the command waited; a hit waits at none. */
  readonly gates: number;
  readonly isKilled: boolean;
}

export interface GatedOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** A variable and its value that the waiting process has: a hit prints process ids that others have by now. */
  readonly mark: string;
  /** Called while the command waits. */
  readonly atGate?: (gate: number) => void;
  readonly killAtGate?: number | undefined;
  readonly killAfterMs?: number | undefined;
}

/** Longer than any command of a recipe, so that a hanging one is told as a difference. */
const LONGEST_MS = 120_000;
const SURVIVORS_MS = 20_000;

export function runGated([program = '', ...args]: readonly string[], options: GatedOptions): Promise<Ended> {
  const { cwd, env, mark, atGate, killAtGate, killAfterMs } = options;
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let [stdout, stderr, read, gates, isKilled] = ['', '', 0, 0, false];
    const kill = () => {
      isKilled = true;
      child.kill('SIGKILL');
    };
    const timer = setTimeout(kill, killAfterMs ?? LONGEST_MS);
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
      const from = read;
      for (const found of stdout.slice(from).matchAll(/@gate (\d+)(?=\D)/g)) {
        read = from + found.index + found[0].length;
        const pid = Number(found[1]);
        if (!isWaiting(pid, mark)) continue;
        const gate = gates++;
        if (gate === killAtGate) return kill();
        atGate?.(gate);
        process.kill(pid, 'SIGUSR2');
      }
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.once('error', reject);
    // The pipes close when the last process of the command has ended. After a kill none may stay.
    let survivors: NodeJS.Timeout | undefined;
    child.once('exit', () => {
      survivors = setTimeout(() => reject(new Error(`processes outlive ${program}`)), SURVIVORS_MS);
    });
    child.once('close', (code) => {
      clearTimeout(timer);
      clearTimeout(survivors);
      resolve({ code, stdout, stderr, gates, isKilled });
    });
  });
}

function isWaiting(pid: number, mark: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(mark);
  } catch {
    return false;
  }
}
