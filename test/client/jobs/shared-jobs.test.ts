// The job slots that all runs of a user share (J1 to J4). Each SharedJobs here has a real helper and an open file of its
// own, so for the kernel they are as many runs.
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { JobSlot, StepCancelled } from '../../../client/graph/job-slot.ts';
import { SLOTS_FILE } from '../../../client/jobs/enclosing-run.ts';
import { type HeldJob, isNetworkFileSystem, SharedJobs } from '../../../client/jobs/shared-jobs.ts';
import { JOBS } from '../../../client/limits.ts';
import type { GraphEvent } from '../../../client/view/events.ts';
import { baseEnvironment, CLIENT_FORM, FORMS, Workshop } from '../../rig/assay.ts';
import { runSteps } from '../../rig/graph.ts';
import { untilThere } from '../../rig/waiting.ts';

const PATIENCE_MS = 1_000;
const NEVER = 1e9;

describe('one run among others', () => {
  let folder: string;
  let runs: Run[];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'assay-test-'));
    runs = [];
  });
  afterEach(() => {
    for (const { jobs } of runs) jobs.close();
    rmSync(folder, { recursive: true, force: true });
  });

  class Run {
    readonly jobs: SharedJobs;
    readonly events: GraphEvent[] = [];
    stopped: string | undefined;

    constructor(jobs: number, patienceMs = NEVER, now: () => number = Date.now) {
      this.jobs = new SharedJobs({ storeFolder: folder, jobs, patienceMs, now });
      runs.push(this);
    }

    async acquire(step = 's'): Promise<HeldJob> {
      const held = await this.ask(step);
      if (typeof held === 'string') throw new Error(held);
      return held;
    }

    ask(step = 's') {
      const emit = (event: GraphEvent) => void this.events.push(event);
      return this.jobs.acquire({ step, emit, refusal: () => this.stopped });
    }
  }

  test('four runs with other --jobs never hold more slots than the largest, and all come through (J1)', async () => {
    const counts = { now: 0, most: 0, done: 0 };
    const command = async (run: Run) => {
      const held = await run.acquire();
      counts.most = Math.max(counts.most, ++counts.now);
      await new Promise((resolve) => setImmediate(resolve));
      counts.now--;
      counts.done++;
      held.release();
      held.release();
    };
    const each = async (jobs: number) => {
      const run = new Run(jobs);
      const lane = async () => {
        for (let times = 0; times < 10; times++) await command(run);
      };
      await Promise.all(Array.from({ length: jobs }, lane));
    };
    await Promise.all([1, 2, 3, 3].map(each));
    expect(counts).toEqual({ now: 0, most: 3, done: 90 });
  });

  test('a run with many commands lets another one have a slot in between', async () => {
    const [many, few] = [new Run(1), new Run(1)];
    let begun = 0;
    let isOver = false;
    const all = async () => {
      while (!isOver) {
        const held = await many.acquire();
        begun++;
        await new Promise((resolve) => setTimeout(resolve, 1));
        held.release();
      }
    };
    const running = all();
    await expect.poll(() => begun).toBeGreaterThan(2);
    for (let times = 0; times < 5; times++) (await few.acquire()).release();
    isOver = true;
    await running;
  });

  test('a run that waits tells it, and resumes when another one ends, however that ends', async () => {
    const [first, second] = [new Run(1), new Run(1)];
    await first.acquire();
    const waits = second.acquire('late');
    await expect.poll(() => second.events.length, { timeout: 10_000 }).toBe(2);
    expect(second.events).toEqual([
      { type: 'step-waiting', step: 'late' },
      { type: 'run-waiting', jobs: 1 },
    ]);
    first.jobs.close();
    await waits;
    expect(second.events.at(-1)).toEqual({ type: 'step-resumed', step: 'late' });
  });

  let time = 0;
  /** Asks for a slot. `meanwhile` happens when the step has told that it waits. */
  const waitFor = async (run: Run, step: string, meanwhile: () => void): Promise<HeldJob> => {
    const waits = run.acquire(step);
    time += JOBS.toldMs;
    await expect.poll(() => run.events).toContainEqual({ type: 'step-waiting', step });
    meanwhile();
    return waits;
  };

  test('a run without a slot for too long goes on with one command at a time (J2)', async () => {
    const [first, second] = [new Run(2), new Run(2, PATIENCE_MS, () => time)];
    const others = [await first.acquire(), await first.acquire()];
    const own = await waitFor(second, 'a', () => {
      time += PATIENCE_MS;
    });
    expect(second.events).toContainEqual({
      type: 'run-warning',
      text: expect.stringContaining('goes on with one command at a time'),
    });
    const order: string[] = [];
    await waitFor(second, 'b', () => {
      order.push('a ends');
      own.release();
    });
    order.push('b');
    expect(order).toEqual(['a ends', 'b']);
    others[0]?.release();
    await second.acquire('c');
  });

  test('a run whose command never ends has a further slot after a longer time (J2)', async () => {
    const [first, second] = [new Run(2), new Run(2, PATIENCE_MS, () => time)];
    await first.acquire();
    await second.acquire('server');
    await waitFor(second, 'test', () => {
      time += PATIENCE_MS * JOBS.patienceOfHolder;
    });
  });

  test('a step does not begin if another one fails while it is given its slot', async () => {
    const [first, second] = [new Run(1), new Run(1)];
    const held = await first.acquire();
    let refusal: string | undefined;
    const ofRun = { acquire: async () => undefined, release() {}, leave() {}, refusal: () => refusal };
    const emit = () => {};
    const slot = new JobSlot(ofRun, Date.now, { jobs: second.jobs, asked: { step: 'late', emit } });
    const begins = slot.acquire();
    refusal = 'another step failed';
    held.release();
    await expect(begins).rejects.toThrow(StepCancelled);
    slot.close();
    (await first.acquire()).release();
  });

  test('a step that must not begin any more stops waiting, and takes no slot from others', async () => {
    const [first, second] = [new Run(1), new Run(1)];
    const held = await first.acquire();
    const waits = second.ask();
    second.stopped = 'the run was interrupted';
    expect(await waits).toBe('the run was interrupted');
    held.release();
    (await first.acquire()).release();
  });

  test('a helper that somebody kills, and a file that cannot be opened, leave a run its own --jobs (J4)', async () => {
    const first = new Run(1);
    await first.acquire();
    const second = new Run(1);
    const waits = second.acquire();
    // Those of this process, by their open file.
    const own = execFileSync('pgrep', ['-P', String(process.pid), '-f', 'assay-trace --slots'], {
      encoding: 'utf8',
    });
    for (const pid of own.trim().split('\n')) process.kill(Number(pid), 'SIGKILL');
    await waits;
    await second.acquire();
    rmSync(join(folder, 'client', SLOTS_FILE));
    mkdirSync(join(folder, 'client', SLOTS_FILE));
    const third = new Run(1);
    await third.acquire();
    await third.acquire();
    expect(third.events).toEqual([]);
  });

  test('locks of a network file system would be those of other machines: such a folder has none', () => {
    const [nfs, smb2, ext4, tmpfs, overlay] = [0x6969, 0xfe534d42, 0xef53, 0x01021994, 0x794c7630];
    expect([nfs, smb2, ext4, tmpfs, overlay].map(isNetworkFileSystem)).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
    // Bun and Node give the numbers of some file systems as negative ones.
    expect(isNetworkFileSystem(smb2 | 0)).toBe(true);
  });
});

describe('assay run', () => {
  let shop: Workshop;
  beforeEach(() => {
    shop = new Workshop();
  });
  afterEach(() => shop.remove());

  const slotsFile = () => join(shop.store, 'client', SLOTS_FILE);
  const config = (steps: object, folder = shop.workspace) =>
    shop.write('assay.json', JSON.stringify({ steps }), 0o644, folder);

  test('four runs at once in four worktrees never have more commands alive than --jobs', async () => {
    const alive = join(shop.folder, 'alive');
    mkdirSync(alive);
    const command = `mkdir ${alive}/$$; ls ${alive} | wc -l >> ${shop.folder}/counts; sleep 0.05; rmdir ${alive}/$$`;
    const names = ['a', 'b', 'c', 'd'];
    const step = { command, inputs: ['assay.json'] };
    const folders = names.map((name) => shop.another(`tree-${name}`));
    for (const folder of folders) config(Object.fromEntries(names.map((name) => [name, step])), folder);
    const ran = await Promise.all(folders.map((cwd) => shop.assay(['run', '--jobs=2', '*'], { cwd })));
    expect(ran.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
    const counts = readFileSync(join(shop.folder, 'counts'), 'utf8').trim().split('\n').map(Number);
    expect(counts).toHaveLength(16);
    expect(Math.max(...counts)).toBe(2);
  });

  test('a run that is killed gives its slots back at once, and Ctrl-C ends a run that waits for one', async () => {
    const [begun, other] = [join(shop.folder, 'begun'), shop.another('other')];
    config({
      holds: { command: `touch ${begun}; ${untilThere(join(shop.folder, 'never'))}`, inputs: ['assay.json'] },
    });
    config({ quick: { command: 'echo quick', inputs: ['assay.json'] } }, other);
    const env = { ...baseEnvironment(), ASSAY_STORE: shop.store };
    const [program = '', ...args] = FORMS[CLIENT_FORM];
    const start = (cwd: string) => spawn(program, [...args, 'run', '--jobs=1', '*'], { cwd, env });
    const first = start(shop.workspace);
    await expect.poll(() => existsSync(begun), { timeout: 20_000 }).toBe(true);
    const waiting = start(other);
    const told = until(
      waiting.stderr,
      'waiting for a job slot: other runs of this user hold the only one (--jobs)',
    );
    await told;
    waiting.kill('SIGINT');
    expect(await new Promise((resolve) => waiting.once('exit', resolve))).toBe(130);
    const next = runSteps(shop, ['--jobs=1', 'quick'], {
      cwd: other,
      onSaid: ({ stdout }) => stdout.includes('run-waiting') && first.kill('SIGKILL'),
    });
    const { outcomes, events } = await next;
    expect(outcomes).toEqual({ quick: 'miss' });
    expect(events.map(({ type }) => type)).not.toContain('run-warning');
  });

  test('a run that a command starts uses the slot of that command, also with --jobs=1 and another store (J3)', async () => {
    const assay = FORMS[CLIENT_FORM].join(' ');
    config({
      outer: {
        command: `env -i PATH="$PATH" ASSAY_STORE="$STORE" ${assay} run --jobs=1 --json inner > told`,
        env: ['STORE'],
        inputs: ['assay.json'],
        outputs: ['told'],
        cache: false,
      },
      inner: { command: 'echo inner', inputs: ['assay.json'] },
    });
    for (const STORE of [shop.store, join(shop.folder, 'another-store')]) {
      const { code, stderr } = await shop.assay(['run', '--jobs=1', 'outer'], { env: { STORE } });
      const events = readFileSync(join(shop.workspace, 'told'), 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      expect(events.at(-1), stderr).toMatchObject({ type: 'run-finished', exitCode: 0, misses: 1 });
      expect(events.map(({ type }) => type)).not.toContain('step-waiting');
      expect(code).toBe(0);
    }
    expect(existsSync(join(shop.folder, 'another-store', 'client', SLOTS_FILE))).toBe(false);
  });

  test('a hit opens no file of slots, and neither does a job of a CI system', async () => {
    config({ make: { command: 'echo > made', inputs: ['assay.json'], outputs: ['made'] } });
    const run = async (env = {}) => (await runSteps(shop, ['make'], { env })).outcomes;
    expect(await run({ CI: 'true' })).toEqual({ make: 'miss' });
    expect(existsSync(slotsFile())).toBe(false);
    rmSync(join(shop.workspace, 'made'));
    expect(await run()).toEqual({ make: 'hit-local' });
    expect(await run()).toEqual({ make: 'hit-local' });
    expect(existsSync(slotsFile())).toBe(false);
    config({ make: { command: 'echo other > made', inputs: ['assay.json'], outputs: ['made'] } });
    expect(await run()).toEqual({ make: 'miss' });
    expect(existsSync(slotsFile())).toBe(true);
  });

  test('no command inherits the locks, so a process that it leaves behind holds no slot (J1)', async () => {
    const command = 'ls -l /proc/self/fd > open';
    const step = { command, inputs: ['assay.json'], outputs: ['open'], hermetic: 'off' };
    config({
      step,
      traced: { ...step, command: 'ls -l /proc/self/fd > traced', outputs: ['traced'], hermetic: 'warn' },
    });
    for (const form of ['source', 'executable'] as const) {
      const { code, stderr } = await shop.assay(['run', '--force', 'step', 'traced'], { form });
      expect(code, stderr).toBe(0);
      expect(existsSync(slotsFile())).toBe(true);
      for (const name of ['open', 'traced'])
        expect(readFileSync(join(shop.workspace, name), 'utf8')).not.toContain(SLOTS_FILE);
    }
  });

  test('a client folder that cannot be written fails no build (J4)', async () => {
    config({ make: { command: 'echo made', inputs: ['assay.json'] } });
    writeFileSync(join(shop.folder, 'store'), 'a file where the store should be');
    chmodSync(join(shop.folder, 'store'), 0o400);
    const { outcomes, code } = await runSteps(shop, ['make']);
    expect([code, outcomes]).toEqual([0, { make: 'miss' }]);
  });
});

function until(stream: NodeJS.ReadableStream, text: string): Promise<void> {
  let said = '';
  return new Promise((resolve) =>
    stream.on('data', (bytes: Buffer) => {
      said += bytes;
      if (said.includes(text)) resolve();
    }),
  );
}
