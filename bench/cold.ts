// `npm run bench -- cold [--steps N] [--sleep SECONDS] [--rounds N] [--against FOLDER]`: a graph without any
// cache, and the first and second run of hits after it. Assay, watched and unwatched, and Turborepo run in
// turns, each in its own repository. Prints the median and the spread of wall time and of CPU with the commands.
//
// --sleep makes each command wait first and runs two at a time: 100 steps of 0.2 s take 10 s at best.
// --against adds the executable of another checkout. Needs `npm run build` and GNU time.
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Contestant, contestants, EXECUTABLE, installPeers, TURBO } from './graph/contestants.ts';
import { commitAll, makeRepository } from './graph/repository.ts';
import { median, table } from './server/table.ts';

const RUN_TIMEOUT_MS = 120_000;
/** The client does not remember the stat of a file that was written just before. */
const SETTLE_MS = 200;
const STAGES = ['cold', 'first hits', 'second hits'] as const;

type Stage = (typeof STAGES)[number];
type Cost = Readonly<Record<'wallMs' | 'cpuMs', number>>;

const steps = Number(flag('--steps') ?? 100);
const sleepSeconds = Number(flag('--sleep') ?? 0);
const rounds = Number(flag('--rounds') ?? 5);
const against = flag('--against');

installPeers();
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'assay-bench-cold-')));
try {
  const rivals = rivalsHere();
  const costs = new Map<string, Cost[]>();
  for (const rival of rivals) prepare(rival);
  for (let round = 0; round < rounds; round++) for (const rival of rivals) await takeTurn(rival, costs);
  const title = `${steps} steps${sleepSeconds > 0 ? ` of ${sleepSeconds} s, two at a time` : ''}`;
  for (const stage of STAGES) console.log(`\n${tableOf(`${title}: ${stage}`, stage, rivals, costs)}`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function flag(name: string): string | undefined {
  const at = process.argv.indexOf(name);
  return at === -1 ? undefined : process.argv[at + 1];
}

function rivalsHere(): Contestant[] {
  const [assay, turbo] = [EXECUTABLE, TURBO].map((name) => contestants().find((one) => one.name === name));
  if (!assay || !turbo) throw new Error('a contestant is missing');
  const atOnce = (option: string) => (sleepSeconds > 0 ? [option] : []);
  const [, ...args] = [...assay.command, ...atOnce('--jobs=2')];
  const own: Contestant = { ...assay, command: [assay.command[0], ...args] };
  const unwatched: Contestant = { ...own, name: `${own.name}, unwatched`, prepare: switchOffWatching };
  const other: Contestant | undefined =
    against === undefined
      ? undefined
      : {
          ...own,
          name: `Assay in ${against}`,
          command: [join(against, 'dist', 'assay-start'), ...args],
        };
  return [
    own,
    ...(other ? [other] : []),
    unwatched,
    { ...turbo, command: [...turbo.command, ...atOnce('--concurrency=2')] },
  ];
}

function switchOffWatching(root: string): void {
  const file = join(root, 'assay.json');
  const config: { packageSteps: { build: object } } = JSON.parse(readFileSync(file, 'utf8'));
  Object.assign(config.packageSteps.build, { hermetic: 'off' });
  writeFileSync(file, JSON.stringify(config));
}

function folderOf({ name }: Contestant): string {
  return join(folder, name.replaceAll(/\W+/g, '-'));
}

function prepare(rival: Contestant): void {
  const root = join(folderOf(rival), 'repository');
  makeRepository(root, { packages: steps, files: 3, fileBytes: 200, sleepSeconds });
  rival.prepare?.(root);
  commitAll(root);
}

async function takeTurn(rival: Contestant, costs: Map<string, Cost[]>): Promise<void> {
  forget(rival);
  for (const stage of STAGES) {
    await sleep(SETTLE_MS);
    const name = nameOf(rival, stage);
    costs.set(name, [...(costs.get(name) ?? []), run(rival)]);
    if (countOutputs(rival) !== steps) throw new Error(`${rival.name} did not make everything`);
  }
}

function nameOf({ name }: Contestant, stage: Stage): string {
  return `${stage}: ${name}`;
}

function forget(rival: Contestant): void {
  const own = folderOf(rival);
  const made = ['store', 'cache', 'repository/.turbo'].map((name) => join(own, name));
  const inPackages = packagesOf(rival).flatMap((one) => ['dist', '.turbo'].map((name) => join(one, name)));
  for (const path of [...made, ...inPackages]) rmSync(path, { recursive: true, force: true });
}

function packagesOf(rival: Contestant): string[] {
  const packages = join(folderOf(rival), 'repository', 'packages');
  return readdirSync(packages).map((name) => join(packages, name));
}

function countOutputs(rival: Contestant): number {
  return packagesOf(rival).filter((one) => existsSync(join(one, 'dist', 'f2.js'))).length;
}

function run(rival: Contestant): Cost {
  const own = folderOf(rival);
  const times = join(own, 'times');
  const began = performance.now();
  const ran = spawnSync('/usr/bin/time', ['-o', times, '-f', '%U %S', ...rival.command], {
    cwd: join(own, 'repository'),
    env: {
      PATH: process.env.PATH,
      HOME: own,
      ...rival.environment,
      ASSAY_STORE: join(own, 'store'),
      TURBO_CACHE_DIR: join(own, 'cache'),
    },
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    timeout: RUN_TIMEOUT_MS,
  });
  const wallMs = performance.now() - began;
  if (ran.status !== 0) throw new Error(`${rival.name} ended with ${ran.status}: ${ran.stderr.slice(-500)}`);
  const [user = 0, system = 0] = readFileSync(times, 'utf8').split(' ').map(Number);
  return { wallMs, cpuMs: (user + system) * 1000 };
}

function tableOf(
  title: string,
  stage: Stage,
  rivals: readonly Contestant[],
  costs: ReadonlyMap<string, readonly Cost[]>,
): string {
  const rows = rivals.map((rival) => {
    const found = costs.get(nameOf(rival, stage)) ?? [];
    return [
      rival.name,
      ...(['wallMs', 'cpuMs'] as const).flatMap((part) => spread(found.map((one) => one[part]))),
    ];
  });
  return table([[title, 'wall ms', 'spread', 'cpu ms', 'spread'], ...rows]);
}

function spread(values: readonly number[]): string[] {
  const ends = `${Math.min(...values).toFixed(0)}-${Math.max(...values).toFixed(0)}`;
  return [median(values).toFixed(0), ends];
}
