// A thousand steps that all hit, with outputs in place and deleted; one step; 20,000 small files; 1 GiB in 8 files: Assay
// beside its peers, in one run on one machine. Wall time, CPU of the process tree and peak memory, least of several rounds;
// a daemon's share is not counted. Prints what was reached; fails only if it could not measure.
//
// Turborepo, Nx and moon are those that test/clients drives; wireit and lage come with bench/graph/peers. Both are installed
// with `npm ci` when they are not there. Needs `npm run build` and GNU time.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Contestant, contestants, installPeers } from './graph/contestants.ts';
import { makeRepository, type Shape } from './graph/repository.ts';
import { table } from './server/table.ts';

const ROUNDS = 3;

/** What has just been written is too fresh to be remembered by the client. */
const SETTLE_MS = 200;

const GIB = 2 ** 30;

const SCENES: readonly { readonly name: string; readonly shape: Shape; readonly deletes: boolean }[] = [
  { name: '1 step, outputs in place', shape: { packages: 1, files: 1, fileBytes: 64 }, deletes: false },
  {
    name: '1,000 steps, outputs in place',
    shape: { packages: 1000, files: 3, fileBytes: 200 },
    deletes: false,
  },
  {
    name: '1,000 steps, outputs deleted',
    shape: { packages: 1000, files: 3, fileBytes: 200 },
    deletes: true,
  },
  { name: '20,000 files in one step', shape: { packages: 1, files: 20_000, fileBytes: 512 }, deletes: false },
  { name: '1 GiB in 8 files, deleted', shape: { packages: 8, files: 1, fileBytes: GIB / 8 }, deletes: true },
];

interface Cost {
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly memoryMiB: number;
}

async function main(): Promise<void> {
  installPeers();
  const asked = process.argv.slice(2);
  for (const scene of SCENES.filter(
    ({ name }) => asked.length === 0 || asked.some((one) => name.includes(one)),
  )) {
    const rows: string[][] = [];
    for (const contestant of contestants()) rows.push(await measure(contestant, scene));
    console.log(table([[scene.name, 'wall ms', 'cpu ms', 'MiB'], ...rows]));
  }
}

async function measure(
  contestant: Contestant,
  { shape, deletes }: (typeof SCENES)[number],
): Promise<string[]> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'assay-bench-graph-')));
  try {
    const root = join(folder, 'repository');
    makeRepository(root, shape);
    for (const args of [
      ['init', '-q'],
      ['add', '-A'],
      ['commit', '-qm', 'all'],
    ])
      execFileSync('git', ['-c', 'user.name=b', '-c', 'user.email=b@b', ...args], { cwd: root });
    contestant.prepare?.(root);
    await sleep(SETTLE_MS);
    run(contestant, root, folder);
    await sleep(SETTLE_MS);
    run(contestant, root, folder);
    const costs: Cost[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      if (deletes) deleteOutputs(root);
      costs.push(run(contestant, root, folder));
    }
    const least = (part: keyof Cost) => Math.min(...costs.map((cost) => cost[part])).toFixed(0);
    return [contestant.name, least('wallMs'), least('cpuMs'), least('memoryMiB')];
  } catch (error) {
    return [
      contestant.name,
      `could not be measured: ${error instanceof Error ? error.message : error}`,
      '',
      '',
    ];
  } finally {
    contestant.stop?.(join(folder, 'repository'));
    rmSync(folder, { recursive: true, force: true });
  }
}

function deleteOutputs(root: string): void {
  const packages = join(root, 'packages');
  for (const name of readdirSync(packages))
    rmSync(join(packages, name, 'dist'), { recursive: true, force: true });
}

function run({ command, environment }: Contestant, root: string, folder: string): Cost {
  const began = performance.now();
  const ran = spawnSync('/usr/bin/time', ['-f', '%U %S %M', ...command], {
    cwd: root,
    env: { PATH: process.env.PATH, HOME: folder, ASSAY_STORE: join(folder, 'store'), ...environment },
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  const wallMs = performance.now() - began;
  if (ran.status !== 0) throw new Error(`ended with ${ran.status}: ${ran.stderr.slice(-300)}`);
  if (!existsSync(join(root, 'packages/p0/dist'))) throw new Error('it made nothing');
  const [user = 0, system = 0, kib = 0] = (ran.stderr.trimEnd().split('\n').at(-1) ?? '')
    .split(' ')
    .map(Number);
  return { wallMs, cpuMs: (user + system) * 1000, memoryMiB: kib / 1024 };
}

await main();
