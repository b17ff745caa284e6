// `npm run bench -- commands [--rounds N] [--only NAME] [--against FOLDER]`: real commands, cold: by hand and under
// Assay, in turns. The projects are those of test/commands, so most of each run is the start of its tool. A round is a
// fresh clone. By hand a command keeps its TMPDIR, as a person's does, and has a new HOME, as an action has. Under Assay
// each round is another action with the same store. Prints the median CPU with all children, the ratio, and what is
// above 1.3 times the command alone. --against adds the executable of another checkout. Needs `npm run build` and GNU
// time.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Machines } from '../test/commands/machines.ts';
import { ROWS, type Row } from '../test/commands/rows.ts';
import { median, table } from './server/table.ts';

const NAMES = [
  'tsc',
  'vitest',
  'jest',
  'eslint --cache',
  'vite build',
  'webpack',
  'pytest',
  'go build',
  'javac and jar',
];
const ALLOWED_RATIO = 1.3;
/** As it is installed: the starter becomes the executable. */
const EXECUTABLE = join(import.meta.dirname, '../dist/assay-start');

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    only: { type: 'string' },
    against: { type: 'string' },
  },
});
const others = values.against === undefined ? [] : [join(values.against, 'dist/assay-start')];

interface Contestant {
  readonly name: string;
  /** Undefined: by hand. */
  readonly executable: string | undefined;
}

const contestants: readonly Contestant[] = [
  { name: 'by hand', executable: undefined },
  ...others.map((executable) => ({ name: 'against', executable })),
  { name: 'assay', executable: EXECUTABLE },
];

class Bench {
  readonly #row: Row;
  readonly #machines: Machines;
  readonly #folder: string;
  readonly #environment: Record<string, string>;

  constructor(row: Row, machines: Machines) {
    this.#row = row;
    this.#machines = machines;
    this.#folder = machines.shop.folder;
    const { PATH = '' } = process.env;
    this.#environment = { PATH, TMPDIR: this.#made('tmp') };
  }

  /** The CPU seconds of one cold run. */
  cold({ name, executable }: Contestant, round: number): number {
    const cwd = this.#machines.clone('clone');
    const { command, declared, byHand } = this.#row;
    rmSync(join(this.#folder, 'home'), { recursive: true, force: true });
    const env = {
      ...this.#environment,
      HOME: this.#made('home'),
      ROUND: String(round),
      REAL_HOME: process.env.HOME,
    };
    if (executable === undefined) return this.#measure(command, { cwd, env: { ...env, ...byHand } });
    const flags = ['--store', join(this.#folder, `store-${name}`), '--env', 'ROUND', ...declared];
    return this.#measure([executable, 'run', ...flags, '--', ...command], { cwd, env });
  }

  #measure(command: readonly string[], how: { cwd: string; env: NodeJS.ProcessEnv }): number {
    const result = join(this.#folder, 'cpu');
    const { status, stderr } = spawnSync('/usr/bin/time', ['-f', '%U %S', '-o', result, ...command], how);
    if (status !== 0) throw new Error(`${this.#row.name}: exit ${status}\n${stderr}`);
    const [user = Number.NaN, system = Number.NaN] = readFileSync(result, 'utf8').split(' ').map(Number);
    return user + system;
  }

  #made(name: string): string {
    const folder = join(this.#folder, name);
    mkdirSync(folder, { recursive: true });
    return folder;
  }
}

async function measure(row: Row): Promise<string[]> {
  const machines = await Machines.start(row);
  try {
    const bench = new Bench(row, machines);
    const seconds = contestants.map((): number[] => []);
    /* The first round fills the page cache and the stores' digests of tools. */
    for (let round = 0; round <= Number(values.rounds); round++)
      for (const [at, contestant] of contestants.entries()) {
        const took = bench.cold(contestant, round);
        if (round > 0) seconds[at]?.push(took);
      }
    const medians = seconds.map(median);
    const [byHand = Number.NaN] = medians;
    const assay = medians.at(-1) ?? Number.NaN;
    const above = assay - ALLOWED_RATIO * byHand;
    return [row.name, ...medians.map((one) => one.toFixed(2)), (assay / byHand).toFixed(2), above.toFixed(2)];
  } finally {
    await machines.end();
  }
}

const chosen = ROWS.filter(({ name }) =>
  values.only === undefined ? NAMES.includes(name) : name === values.only,
);
const rows = [['CPU-s, cold', ...contestants.map(({ name }) => name), 'ratio', `above ${ALLOWED_RATIO}`]];
for (const row of chosen) {
  rows.push(await measure(row));
  console.error(rows.at(-1)?.join('  '));
}
console.log(table(rows));
