// `npm run bench -- remote [--steps N]`: a CI machine with an empty cache. All results of a graph are at
// `assay serve`, behind a proxy that delays each direction. There is no local cache and no output. Assay and
// Turborepo run in turns, each with its own protocol. Reports wall time, and CPU of the client by GNU time.
//
// What an earlier round made is moved aside and not deleted: ext4 skips inodes that were deleted in the last
// minutes, which took Turborepo half of its time, and a CI machine has deleted nothing.
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServerProcess } from '../test/rig/server.ts';
import { contestants, EXECUTABLE, installPeers, TURBO } from './graph/contestants.ts';
import { commitAll, makeRepository } from './graph/repository.ts';
import type { LineJob } from './remote/line.ts';

const DELAYS_MS = [0, 10, 30];
const ROUNDS = 2;
const MOST_MS = 5 * 60_000;
const steps = Number(process.argv[process.argv.indexOf('--steps') + 1]) || 300;

interface Runner {
  readonly name: string;
  readonly command: readonly string[];
  readonly root: string;
  /** Moved aside before each run. */
  readonly localCache: string;
  environment(url: string): Record<string, string>;
}

installPeers();
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'assay-bench-remote-')));
const aside = join(folder, 'aside');
const timesFile = join(folder, 'times');
const server = await ServerProcess.start(join(folder, 'server'), { form: 'bundle' });
try {
  const runners = [runnerFor(EXECUTABLE), runnerFor(TURBO)];
  for (const one of runners) {
    await run(one, server.url);
    if (countOutputs(one) !== steps) throw new Error(`${one.name} did not build everything`);
  }
  for (const delayMs of DELAYS_MS) {
    const line = fork(join(import.meta.dirname, 'remote/line.ts'));
    const job: LineJob = { port: Number(new URL(server.url).port), delayMs };
    line.send(job);
    const [port] = await once(line, 'message');
    for (const one of runners) {
      const costs: Cost[] = [];
      for (let round = 0; round < ROUNDS; round++)
        costs.push(await fromNothing(one, `http://127.0.0.1:${port}`));
      const wall = costs.map(({ wallMs }) => (wallMs / 1000).toFixed(2)).join(', ');
      const cpu = costs.map(({ cpuMs }) => (cpuMs / 1000).toFixed(2)).join(', ');
      console.log(`${steps} hits at a remote ${2 * delayMs} ms away, ${one.name}: ${wall} s, CPU ${cpu} s`);
    }
    line.kill();
  }
} finally {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}

function runnerFor(name: string): Runner {
  const contestant = contestants().find((one) => one.name === name);
  if (!contestant) throw new Error(`there is no ${name}`);
  const own = join(folder, name.replaceAll(/\W+/g, '-'));
  const root = join(own, 'repository');
  makeRepository(root, { packages: steps, files: 3, fileBytes: 200 });
  commitAll(root);
  const localCache = join(own, 'cache');
  const environment = (url: string) => ({
    ...process.env,
    ...contestant.environment,
    ASSAY_STORE: localCache,
    ASSAY_REMOTE: url,
    TURBO_CACHE_DIR: localCache,
    TURBO_API: url,
    TURBO_TEAM: 'team',
    TURBO_TOKEN: 'any',
  });
  return { name, command: contestant.command, root, localCache, environment };
}

interface Cost {
  readonly wallMs: number;
  readonly cpuMs: number;
}

async function fromNothing(runner: Runner, url: string): Promise<Cost> {
  moveAside(runner.localCache);
  for (const one of packagesOf(runner))
    for (const made of ['dist', '.turbo', 'node_modules']) moveAside(join(one, made));
  const began = performance.now();
  const said = await run(runner, url);
  const wallMs = performance.now() - began;
  if (countOutputs(runner) !== steps) throw new Error(`${runner.name} brought back too little: ${said}`);
  const [user = 0, system = 0] = readFileSync(timesFile, 'utf8').split(' ').map(Number);
  return { wallMs, cpuMs: (user + system) * 1000 };
}

function moveAside(path: string): void {
  if (!existsSync(path)) return;
  mkdirSync(aside, { recursive: true });
  renameSync(path, join(aside, String(readdirSync(aside).length)));
}

function packagesOf({ root }: Runner): string[] {
  return readdirSync(join(root, 'packages')).map((name) => join(root, 'packages', name));
}

function countOutputs(runner: Runner): number {
  return packagesOf(runner).filter((one) => existsSync(join(one, 'dist', 'f2.js'))).length;
}

async function run({ command, root, environment }: Runner, url: string): Promise<string> {
  const [program = '', ...args] = ['/usr/bin/time', '-o', timesFile, '-f', '%U %S', ...command];
  const child = spawn(program, args, { cwd: root, env: environment(url), timeout: MOST_MS });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => (said += text));
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${program} ended with ${code}: ${said.slice(-500)}`);
  return said.slice(-500);
}
