// The cost of `assay run`: a local hit of a trivial step compared with the start of Node, and the second key
// of 20,000 small inputs compared with a bare loop of lstat. Ratios within one run count, not milliseconds.
// Prints which targets were reached, and fails only if it could not measure. Needs `npm run build` and
// hyperfine.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Cost, FILES_IN_EACH, FOLDERS, makeInputs } from './cli/inputs.ts';
import { median, table } from './server/table.ts';

const DIST = join(import.meta.dirname, '..', 'dist');
const NODE = process.execPath;
const HIT_RUNS = 50;
const KEY_ROUNDS = 9;

/** The client does not remember the stat of a file that was written just before. */
const SETTLE_MS = 200;

interface Timing {
  readonly median: number;
  readonly min: number;
  readonly user: number;
  readonly system: number;
}

async function main(): Promise<void> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'assay-bench-cli-')));
  try {
    await compareHits(folder);
    await compareKeys(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function compareHits(folder: string): Promise<void> {
  const workspace = join(folder, 'hit');
  mkdirSync(workspace);
  writeFileSync(join(workspace, 'in.txt'), 'input\n');
  await sleep(SETTLE_MS);
  const step = ['run', '--store', join(folder, 'hit-store'), '--input', 'in.txt', '--output', 'out.txt'];
  const command = [...step, '--', 'cp', 'in.txt', 'out.txt'];
  const bundle = [NODE, join(DIST, 'node', 'assay.cjs'), ...command];
  const executable = [join(DIST, 'assay'), ...command];
  execFileSync(join(DIST, 'assay'), command, { cwd: workspace, stdio: 'ignore' });
  await sleep(SETTLE_MS);
  for (const contestant of [bundle, executable]) refuseUnlessHit(contestant, workspace);
  const [yardstick, ofBundle, ofExecutable] = hyperfine(
    [[NODE, '-e', '0'], bundle, executable],
    workspace,
    folder,
  );
  if (!yardstick || !ofBundle || !ofExecutable) throw new Error('hyperfine gave no results');
  const line = (name: string, timing: Timing, most: number) => {
    const ratio = timing.median / yardstick.median;
    return [
      name,
      ...columns(timing),
      `${ratio.toFixed(2)}`,
      `${most}`,
      ratio <= most ? 'reached' : 'NOT reached',
    ];
  };
  console.log(
    table([
      ['a local hit, ms', 'median', 'least', 'user + system', 'x node -e 0', 'at most', ''],
      ['node -e 0', ...columns(yardstick), '1.00', '', ''],
      line('the bundle for Node', ofBundle, 1.6),
      line('the executable', ofExecutable, 0.5),
    ]),
  );
}

function refuseUnlessHit([program = '', ...args]: readonly string[], cwd: string): void {
  const flags = args.indexOf('run') + 1;
  const withJson = [...args.slice(0, flags), '--json', ...args.slice(flags)];
  const said = execFileSync('/bin/sh', ['-c', 'exec "$@" 2>&1', 'sh', program, ...withJson], {
    cwd,
    encoding: 'utf8',
  });
  if (JSON.parse(said).outcome !== 'hit-local') throw new Error(`no hit to measure: ${said}`);
}

function hyperfine(commands: readonly (readonly string[])[], cwd: string, folder: string): Timing[] {
  const results = join(folder, 'hyperfine.json');
  const quoted = commands.map((words) => words.map((word) => `'${word}'`).join(' '));
  const options = ['--shell=none', '--warmup', '5', '--runs', String(HIT_RUNS), '--export-json', results];
  execFileSync('hyperfine', [...options, ...quoted], { cwd, stdio: 'ignore' });
  const { results: timings }: { results: Timing[] } = JSON.parse(readFileSync(results, 'utf8'));
  return timings;
}

function columns({ median: middle, min, user, system }: Timing): string[] {
  return [middle, min, user + system].map((seconds) => (seconds * 1000).toFixed(1));
}

async function compareKeys(folder: string): Promise<void> {
  const workspace = join(folder, 'keys');
  mkdirSync(workspace);
  makeInputs(workspace);
  await sleep(SETTLE_MS);
  const store = join(folder, 'key-store');
  const first = measure('key', workspace, store);
  const key: Cost[] = [];
  const lstat: Cost[] = [];
  for (let round = 0; round < KEY_ROUNDS; round++) {
    lstat.push(measure('lstat', workspace, store));
    key.push(measure('key', workspace, store));
  }
  const middle = (costs: readonly Cost[], part: keyof Cost) => median(costs.map((cost) => cost[part]));
  const line = (name: string, part: keyof Cost) => {
    const ratio = middle(key, part) / middle(lstat, part);
    const verdict = ratio <= 3 ? 'reached' : 'NOT reached';
    const numbers = [first[part], middle(key, part), middle(lstat, part)].map((ms) => ms.toFixed(0));
    return [name, ...numbers, ratio.toFixed(2), '3', verdict];
  };
  console.log(
    table([
      [
        `${FOLDERS * FILES_IN_EACH} inputs, ms`,
        'first key',
        'second key',
        'lstat loop',
        'ratio',
        'at most',
        '',
      ],
      line('wall', 'wallMs'),
      line('CPU', 'cpuMs'),
    ]),
  );
}

function measure(kind: 'key' | 'lstat', workspace: string, store: string): Cost {
  const script = join(import.meta.dirname, 'cli', 'inputs.ts');
  return JSON.parse(execFileSync(NODE, [script, kind, workspace, store], { encoding: 'utf8' }));
}

await main();
