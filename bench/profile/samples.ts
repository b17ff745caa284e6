// Samples of running processes, taken by perf (Debian's linux-perf): each function's share of the CPU time.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';

/** Node writes the addresses of compiled functions to a file that perf reads. */
export const NODE_OPTIONS = ['--perf-basic-prof', '--no-logfile-per-isolate', '--logfile=/dev/null'];
/** By time: virtual machines have no hardware counters. */
const EVENT = ['-e', 'cpu-clock', '-F', '1999'];

const SORT = 'pid,comm,dso,symbol';

export interface Sample {
  readonly count: number;
  readonly pid: number;
  /** The name of the program or of its thread. */
  readonly program: string;
  /** The executable or library of the function. */
  readonly file: string;
  readonly symbol: string;
}

/** Samples all threads of these processes until the work is done. */
export async function sampleWhile(
  pids: readonly number[],
  file: string,
  work: () => Promise<void>,
): Promise<void> {
  const perf = await perfRecord(['-p', pids.join(','), '-o', file]);
  await work();
  perf.kill('SIGINT');
  await once(perf, 'exit');
}

/** Samples a command and all that it starts, until it ends. */
export function sampleCommand(
  command: readonly string[],
  file: string,
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): void {
  const args = ['record', '-q', ...EVENT, '-o', file, '--', ...command];
  const { status, stderr } = spawnSync('perf', args, { ...options, encoding: 'utf8', maxBuffer: 2 ** 28 });
  if (status !== 0) throw new Error(`${command.join(' ')} ended with ${status}: ${stderr.slice(-500)}`);
}

async function perfRecord(args: readonly string[]): Promise<ChildProcess> {
  const perf = spawn('perf', ['record', '-q', ...EVENT, ...args], { stdio: 'ignore' });
  await once(perf, 'spawn');
  return perf;
}

/** Counts, because a share of each process and function would be rounded to nothing. */
export function samplesIn(file: string): Sample[] {
  const args = ['report', '-i', file, '--no-children', '--stdio', '-n', '-t', '|', '--sort', SORT];
  const { stdout, status, stderr } = spawnSync('perf', args, { encoding: 'utf8', maxBuffer: 2 ** 28 });
  if (status !== 0) throw new Error(`perf report: ${stderr}`);
  return stdout.split('\n').flatMap((line) => {
    const cells = line.split('|').map((cell) => cell.trim());
    const [share = '', count = '', pid = '', program = '', file = '', symbol = ''] = cells;
    if (!share.endsWith('%')) return [];
    return [{ count: Number(count), pid: Number.parseInt(pid, 10), program, file, symbol }];
  });
}
