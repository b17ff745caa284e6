// Assay and its peers in five scenes: a thousand steps that hit, with outputs in place and deleted; one step;
// 20,000 small files; 1 GiB in 8 files. Reports wall time, CPU of the process tree and peak memory, the
// minimum of several rounds, without a daemon's share. Contestants run in turns, because the speed of a
// shared machine varies by the minute. Slow peers come last, with one round and a hundred steps, as their
// rows say. Prints which targets were reached, and fails only if Assay could not be measured. CPU time has
// steps of 10 ms. Large files repeat one line, which favours a peer that compresses.
//
// Turborepo, Nx and moon are those of test/clients; wireit and lage are in bench/graph/peers. `npm ci`
// installs both if they are missing. Needs `npm run build` and GNU time. `npm run bench -- graph` ends within
// fifteen minutes and omits peers that have not begun by then, as their rows say. `node bench/graph.ts '1
// step'` runs the scenes whose name contains that; with --quick, without the slow peers.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  BUNDLE,
  type Contestant,
  contestants,
  EXECUTABLE,
  installPeers,
  TURBO,
  TURBO_SHIM,
} from './graph/contestants.ts';
import { makeRepository, type Shape } from './graph/repository.ts';
import { table } from './server/table.ts';

/** The client does not remember the stat of a file that was written just before. */
const SETTLE_MS = 200;
const RUN_TIMEOUT_MS = 60_000;
const SLOW_ROUNDS = 1;
/** No peer begins after this. */
const PEERS_MS = 11 * 60_000;
const GIB = 2 ** 30;

type State = 'in place' | 'deleted';

interface Scene {
  readonly name: string;
  readonly shape: Shape;
  /** For slow contestants; undefined omits them. */
  readonly slowShape?: Shape;
  readonly rounds: number;
  /** Of the built repository: outputs in place, or deleted before each round. */
  readonly states: readonly State[];
}

const STEPS = { files: 3, fileBytes: 200 };
const ONE = { packages: 1, files: 1, fileBytes: 64 };

const SCENES: readonly Scene[] = [
  { name: '1 step', shape: ONE, slowShape: ONE, rounds: 30, states: ['in place'] },
  {
    name: '1,000 steps',
    shape: { ...STEPS, packages: 1000 },
    slowShape: { ...STEPS, packages: 100 },
    rounds: 3,
    states: ['in place', 'deleted'],
  },
  {
    name: '20,000 files',
    shape: { packages: 1, files: 20_000, fileBytes: 512 },
    rounds: 5,
    states: ['in place'],
  },
  {
    name: '1 GiB in 8 files',
    shape: { packages: 8, files: 1, fileBytes: GIB / 8 },
    rounds: 2,
    states: ['in place', 'deleted'],
  },
];

interface Cost {
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly memoryMiB: number;
}

/** By scene and state, then by contestant. */
type Costs = Map<string, Map<string, Cost | string>>;

async function main(): Promise<void> {
  installPeers();
  const isQuick = process.argv.includes('--quick');
  const asked = process.argv.slice(2).filter((argument) => argument !== '--quick');
  const costs: Costs = new Map();
  const endsAt = Date.now() + PEERS_MS;
  for (const scene of SCENES.filter(({ name }) => !asked.length || asked.some((one) => name.includes(one)))) {
    const [slow, quick] = [contestants().filter(isSlow), contestants().filter((one) => !isSlow(one))];
    await measure(quick, scene, costs);
    for (const one of isQuick ? [] : slow) await measureIfThereIsTime(one, scene, costs, endsAt);
    for (const state of scene.states) print(`${scene.name}, ${state}`, costs);
  }
  const node = Math.min(...Array.from({ length: 20 }, () => wallOf([process.execPath, '-e', '0'])));
  console.log(`node -e 0: ${node.toFixed(1)} ms`);
  for (const line of verdicts(costs, node)) console.log(line);
}

function print(title: string, costs: Costs): void {
  const rows = [...(costs.get(title) ?? [])].map(([name, cost]) =>
    typeof cost === 'string'
      ? [name, cost, '', '']
      : [name, cost.wallMs.toFixed(1), cost.cpuMs.toFixed(0), cost.memoryMiB.toFixed(0)],
  );
  console.log(table([[title, 'wall ms', 'cpu ms', 'MiB'], ...rows]));
}

function isSlow(contestant: Contestant): boolean {
  return contestant.isSlow === true;
}

async function measureIfThereIsTime(
  contestant: Contestant,
  scene: Scene,
  costs: Costs,
  endsAt: number,
): Promise<void> {
  if (Date.now() <= endsAt) await measure([contestant], scene, costs);
  else if (scene.slowShape) noteAll(contestant, scene, costs, 'left out: the time was up');
}

/** Each contestant has its own repository. One that fails is reported and omitted, unless it is Assay. */
async function measure(rivals: readonly Contestant[], scene: Scene, costs: Costs): Promise<void> {
  const parent = realpathSync(mkdtempSync(join(tmpdir(), 'assay-bench-graph-')));
  const folderOf = ({ name }: Contestant) => join(parent, name.replaceAll(/\W+/g, '-'));
  try {
    const ready: Contestant[] = [];
    for (const one of rivals) {
      const shape = shapeFor(one, scene);
      if (shape && (await tryBuild(one, shape, scene, folderOf(one), costs))) ready.push(one);
    }
    for (const state of scene.states) takeTurns(ready, scene, state, folderOf, costs);
  } finally {
    for (const one of rivals) one.stop?.(join(folderOf(one), 'repository'));
    rmSync(parent, { recursive: true, force: true });
  }
}

function shapeFor(contestant: Contestant, scene: Scene): Shape | undefined {
  return contestant.isSlow ? scene.slowShape : scene.shape;
}

async function tryBuild(
  contestant: Contestant,
  shape: Shape,
  scene: Scene,
  folder: string,
  costs: Costs,
): Promise<boolean> {
  try {
    await build(contestant, shape, folder);
    return true;
  } catch (error) {
    if (isAssay(contestant)) throw error;
    noteAll(contestant, scene, costs, `could not be measured: ${shortly(error)}`);
    return false;
  }
}

function takeTurns(
  ready: readonly Contestant[],
  scene: Scene,
  state: State,
  folderOf: (contestant: Contestant) => string,
  costs: Costs,
): void {
  const failed = new Set<Contestant>();
  for (let round = 0; round < scene.rounds; round++) {
    for (const one of ready.filter((one) => !failed.has(one) && (round < SLOW_ROUNDS || !one.isSlow))) {
      try {
        noteLeast(costs, `${scene.name}, ${state}`, rowOf(one, scene), once(one, folderOf(one), state));
      } catch (error) {
        if (isAssay(one)) throw error;
        failed.add(one);
        note(costs, `${scene.name}, ${state}`, rowOf(one, scene), `could not be measured: ${shortly(error)}`);
      }
    }
  }
}

function rowOf(contestant: Contestant, scene: Scene): string {
  const shape = shapeFor(contestant, scene) ?? scene.shape;
  return contestant.name + (shape.packages < scene.shape.packages ? ` (${shape.packages} steps)` : '');
}

function noteAll(contestant: Contestant, scene: Scene, costs: Costs, text: string): void {
  for (const state of scene.states) note(costs, `${scene.name}, ${state}`, rowOf(contestant, scene), text);
}

function isAssay({ name }: Contestant): boolean {
  return name === EXECUTABLE || name === BUNDLE;
}

/** The repository, built once, and hit once so that the contestant has its state. */
async function build(contestant: Contestant, shape: Shape, folder: string): Promise<void> {
  const root = join(folder, 'repository');
  makeRepository(root, shape);
  const git = ['-c', 'user.name=b', '-c', 'user.email=b@b'];
  for (const args of [
    ['init', '-q'],
    ['add', '-A'],
    ['commit', '-qm', 'all'],
  ])
    execFileSync('git', [...git, ...args], { cwd: root });
  contestant.prepare?.(root);
  for (let round = 0; round < 2; round++) {
    await sleep(SETTLE_MS);
    run(contestant, folder, []);
  }
  if (!existsSync(join(root, 'packages/p0/dist'))) throw new Error('it made nothing');
}

function shortly(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replaceAll(/\s+/g, ' ').slice(0, 60);
}

function note(costs: Costs, title: string, name: string, cost: Cost | string): void {
  const known = costs.get(title) ?? new Map<string, Cost | string>();
  costs.set(title, known.set(name, cost));
}

function noteLeast(costs: Costs, title: string, name: string, cost: Cost): void {
  const known = costs.get(title)?.get(name);
  const before = known === undefined || typeof known === 'string' ? cost : known;
  const least = (part: keyof Cost) => Math.min(cost[part], before[part]);
  note(costs, title, name, {
    wallMs: least('wallMs'),
    cpuMs: least('cpuMs'),
    memoryMiB: least('memoryMiB'),
  });
}

/**
 * Wall time is measured without GNU time, CPU and memory with it, because it adds its own start. Slow
 * contestants run once for both: the start does not matter there.
 */
function once(contestant: Contestant, folder: string, state: State): Cost {
  const timesFile = join(folder, 'times');
  const timed = ['/usr/bin/time', '-o', timesFile, '-f', '%U %S %M'];
  const [wallMs = 0] = (contestant.isSlow ? [timed] : [[], timed]).map((before) => {
    if (state === 'deleted') deleteOutputs(join(folder, 'repository'));
    return run(contestant, folder, before);
  });
  const [user = 0, system = 0, kib = 0] = readFileSync(timesFile, 'utf8').split(' ').map(Number);
  return { wallMs, cpuMs: (user + system) * 1000, memoryMiB: kib / 1024 };
}

function deleteOutputs(root: string): void {
  const packages = join(root, 'packages');
  for (const name of readdirSync(packages))
    rmSync(join(packages, name, 'dist'), { recursive: true, force: true });
}

function run({ command, environment }: Contestant, folder: string, before: readonly string[]): number {
  const [file = '', ...args] = [...before, ...command];
  const began = performance.now();
  const ran = spawnSync(file, args, {
    cwd: join(folder, 'repository'),
    env: { PATH: process.env.PATH, HOME: folder, ASSAY_STORE: join(folder, 'store'), ...environment },
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    timeout: RUN_TIMEOUT_MS,
  });
  const wallMs = performance.now() - began;
  if (ran.error) throw new Error(`did not end in ${RUN_TIMEOUT_MS / 1000} s: ${ran.error.message}`);
  if (ran.status !== 0) throw new Error(`ended with ${ran.status}: ${ran.stderr.slice(-200)}`);
  return wallMs;
}

function wallOf([file, ...args]: readonly [string, ...string[]]): number {
  const began = performance.now();
  spawnSync(file, args);
  return performance.now() - began;
}

function verdicts(costs: Costs, nodeMs: number): string[] {
  const wall = (title: string, name: string) => {
    const cost = costs.get(title)?.get(name);
    return cost === undefined || typeof cost === 'string' ? undefined : cost.wallMs;
  };
  const turbo = (title: string) => {
    const known = [TURBO, TURBO_SHIM].flatMap((name) => wall(title, name) ?? []);
    return known.length > 0 ? Math.min(...known) : undefined;
  };
  const one = '1 step, in place';
  return [
    verdict('one step, executable, under 12 ms', wall(one, EXECUTABLE), 12),
    verdict('one step, bundle, within 20 ms of node -e 0', wall(one, BUNDLE), nodeMs + 20),
    ...SCENES.slice(1)
      .flatMap(({ name, states }) => states.map((state) => `${name}, ${state}`))
      .map((title) => verdict(`${title}: faster than Turborepo`, wall(title, EXECUTABLE), turbo(title))),
  ].filter((line) => line !== undefined);
}

function verdict(what: string, ours: number | undefined, bound: number | undefined): string | undefined {
  if (ours === undefined || bound === undefined) return undefined;
  const numbers = `${ours.toFixed(1)} ms, bound ${bound.toFixed(1)} ms`;
  return `${ours < bound ? 'reached    ' : 'NOT reached'}  ${what}: ${numbers}`;
}

await main();
