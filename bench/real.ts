// `npm run bench -- real [--rounds N] [--cold N] [--against FOLDER]`: three packages of a real project, each built by
// vite with declarations from TypeScript (real/repository.ts). A step reads hundreds of undeclared files and asks for
// hundreds that are absent. Assay and Turborepo take turns at each stage, each in its own repository. Prints the
// median and the spread of wall time, and of CPU with the commands.
//
//   cold           no cache and no output
//   hits after …   nothing changed since that stage; a second run shows what the first one recorded
//   restored       the outputs were deleted
//   remote         no local cache and no output; all results are at `assay serve` on the loopback
//
// --cold: how many of the rounds begin with a cold run, which takes half a minute of CPU; the other rounds go on where
// the one before ended. --against adds the executable of another checkout. Needs `npm run build` and GNU time; the
// first run installs the packages from the registry.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ServerProcess } from '../test/rig/server.ts';
import { type Contestant, contestants, EXECUTABLE, installPeers, TURBO } from './graph/contestants.ts';
import { commitAll } from './graph/repository.ts';
import { installProject, makeRealRepository, PACKAGES } from './real/repository.ts';
import { median, table } from './server/table.ts';

const RUN_TIMEOUT_MS = 10 * 60_000;
/** The client does not remember the stat of a file that was written just before. */
const SETTLE_MS = 200;

interface Stage {
  readonly name: string;
  /** Deleted before it. */
  readonly without?: 'outputs' | 'outputs and cache';
  readonly asksServer?: true;
}

const COLD_STAGES: readonly Stage[] = [
  { name: 'cold', without: 'outputs and cache' },
  { name: 'hits after cold' },
  { name: 'second hits' },
];
const WARM_STAGES: readonly Stage[] = [
  { name: 'restored', without: 'outputs' },
  { name: 'hits after restored' },
  { name: 'second hits after restored' },
  { name: 'remote', without: 'outputs and cache', asksServer: true },
  { name: 'hits after remote', asksServer: true },
  { name: 'second hits after remote', asksServer: true },
];

type Cost = Readonly<Record<'wallMs' | 'cpuMs', number>>;

interface Rival extends Contestant {
  readonly folder: string;
  readonly server: ServerProcess;
}

const rounds = Number(flag('--rounds') ?? 5);
const coldRounds = Number(flag('--cold') ?? 2);
const against = flag('--against');

installPeers();
installProject();
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'assay-bench-real-')));
const rivals: Rival[] = [];
try {
  for (const one of contestantsHere()) await enter(one);
  for (const rival of rivals) await fillServer(rival);
  const costs = new Map<string, Cost[]>();
  for (let round = 0; round < rounds; round++) {
    const stages = round < coldRounds ? [...COLD_STAGES, ...WARM_STAGES] : WARM_STAGES;
    for (const stage of stages) for (const rival of rivals) await takeTurn(rival, stage, costs);
  }
  for (const stage of [...COLD_STAGES, ...WARM_STAGES]) console.log(`${tableOf(stage, costs)}\n`);
} finally {
  for (const { server } of rivals) await server.stop();
  rmSync(folder, { recursive: true, force: true });
}

function flag(name: string): string | undefined {
  const at = process.argv.indexOf(name);
  return at === -1 ? undefined : process.argv[at + 1];
}

function contestantsHere(): Contestant[] {
  const [assay, turbo] = [EXECUTABLE, TURBO].map((name) => contestants().find((one) => one.name === name));
  if (!assay || !turbo) throw new Error('a contestant is missing');
  if (against === undefined) return [assay, turbo];
  const [, ...args] = assay.command;
  const other = join(against, 'dist', 'assay-start');
  return [assay, { ...assay, name: `Assay in ${against}`, command: [other, ...args] }, turbo];
}

/** Gives the contestant a repository and a server. */
async function enter(one: Contestant): Promise<void> {
  const own = join(folder, one.name.replaceAll(/\W+/g, '-'));
  makeRealRepository(join(own, 'repository'));
  commitAll(join(own, 'repository'));
  const server = await ServerProcess.start(join(own, 'server'), { form: 'bundle' });
  rivals.push({ ...one, folder: own, server });
}

/** Its costs do not count: a cold run is measured without a remote. */
async function fillServer(rival: Rival): Promise<void> {
  await sleep(SETTLE_MS);
  run(rival, true);
}

async function takeTurn(rival: Rival, stage: Stage, costs: Map<string, Cost[]>): Promise<void> {
  const { name, without, asksServer = false } = stage;
  const inPackages = PACKAGES.flatMap((one) => ['dist', '.turbo'].map((made) => join('packages', one, made)));
  const outputs = inPackages.map((path) => join('repository', path));
  const cache = ['cache', 'repository/.turbo'];
  const deleted = without === undefined ? [] : without === 'outputs' ? outputs : [...outputs, ...cache];
  for (const path of deleted) rmSync(join(rival.folder, path), { recursive: true, force: true });
  await sleep(SETTLE_MS);
  const key = nameOf(stage, rival);
  costs.set(key, [...(costs.get(key) ?? []), run(rival, asksServer)]);
  const built = (one: string) => join(rival.folder, 'repository', 'packages', one, 'dist/esm/index.js');
  if (!PACKAGES.every((one) => existsSync(built(one))))
    throw new Error(`${rival.name} did not make everything: ${name}`);
}

function nameOf(stage: Pick<Stage, 'name'>, { name }: Rival): string {
  return `${stage.name}: ${name}`;
}

function run({ name, folder: own, command, environment, server }: Rival, asksServer: boolean): Cost {
  const times = join(own, 'times');
  const root = join(own, 'repository');
  const remote = { ASSAY_REMOTE: server.url, TURBO_API: server.url, TURBO_TEAM: 'team', TURBO_TOKEN: 'any' };
  const began = performance.now();
  const ran = spawnSync('/usr/bin/time', ['-o', times, '-f', '%U %S', ...command], {
    cwd: root,
    env: {
      ...environment,
      // As npm does it, for Turborepo, whose npm is the quick one.
      PATH: `${join(root, 'node_modules', '.bin')}:${environment?.PATH ?? process.env.PATH}`,
      HOME: own,
      ASSAY_STORE: join(own, 'cache'),
      TURBO_CACHE_DIR: join(own, 'cache'),
      ...(asksServer && remote),
    },
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    timeout: RUN_TIMEOUT_MS,
  });
  const wallMs = performance.now() - began;
  if (ran.status !== 0) throw new Error(`${name} ended with ${ran.status}: ${ran.stderr.slice(-500)}`);
  const [user = 0, system = 0] = readFileSync(times, 'utf8').split(' ').map(Number);
  return { wallMs, cpuMs: (user + system) * 1000 };
}

function tableOf(stage: Stage, costs: ReadonlyMap<string, readonly Cost[]>): string {
  const rows = rivals.map((rival) => {
    const found = costs.get(nameOf(stage, rival)) ?? [];
    return [
      rival.name,
      ...(['wallMs', 'cpuMs'] as const).flatMap((part) => spread(found.map((one) => one[part]))),
    ];
  });
  return table([[stage.name, 'wall ms', 'spread', 'cpu ms', 'spread'], ...rows]);
}

function spread(values: readonly number[]): string[] {
  if (values.length === 0) return ['-', '-'];
  const ends = `${Math.min(...values).toFixed(0)}-${Math.max(...values).toFixed(0)}`;
  return [median(values).toFixed(0), ends];
}
