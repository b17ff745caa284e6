// Output locks. O1 to O6 are the invariants at the top of client/outputs/output-lock.ts, F1 to F5 of
// lock-file.ts.
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { REQUEST_DEFAULTS, type RunRequest } from '../../../client/action/request.ts';
import { breakIfAbandoned, LockAges } from '../../../client/outputs/lock-file.ts';
import { withOutputLocks } from '../../../client/outputs/output-lock.ts';
import { assayFolder, Staging, sharedStagingFolder } from '../../../client/outputs/staging.ts';
import { parseRelPath, ROOT } from '../../../core/path.ts';
import { identityText, ownIdentity } from '../../../system/process/process-identity.ts';
import { CLIENT_FORM, FORMS, Workshop } from '../../rig/assay.ts';
import { untilThere } from '../../rig/waiting.ts';

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
});
afterEach(() => shop.remove());

const request = (...outputs: string[]): RunRequest => ({
  ...REQUEST_DEFAULTS,
  workspace: shop.workspace,
  workingDirectory: ROOT,
  command: ['true'],
  inputs: [],
  outputs: outputs.map(parseRelPath),
  variables: [],
  tools: [],
});

const locks = () => {
  const home = assayFolder(shop.workspace);
  const names = readdirSync(home).filter((name) => name.startsWith('lock-'));
  return names.map((name) => join(home, name));
};

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

const owning = <T>(work: (waited: boolean) => T, ...outputs: string[]) =>
  withOutputLocks(request(...outputs), { report: () => {} }, async (waited) => work(waited));

test('a lock names this process, and is removed with its folder (F1)', async () => {
  const held = await owning(() => locks().map((lock) => readlinkSync(lock)), 'a', 'b');
  expect(held).toEqual(Array(2).fill(identityText(ownIdentity())));
  expect(readdirSync(shop.workspace)).toEqual([]);
});

test('while a process stages files, its locks are hard links to one link, touched for each lock', async () => {
  const staging = Staging.create(shop.workspace);
  const look = () => locks().map((lock) => ({ owner: readlinkSync(lock), ...lstatSync(lock) }));
  const first = await owning(look, 'a', 'b');
  expect(new Set(first.map(({ ino }) => ino)).size).toBe(1);
  expect(first.map(({ owner, nlink }) => [owner, nlink])).toEqual(
    Array(2).fill([identityText(ownIdentity()), 3]),
  );
  while (Date.now() - (first[0]?.mtimeMs ?? 0) < 5) await new Promise((resolve) => setImmediate(resolve));
  const [second] = await owning(look, 'a');
  expect(second?.ino).toBe(first[0]?.ino);
  expect(second?.mtimeMs).toBeGreaterThan(first[0]?.mtimeMs ?? 0);
  staging.remove();
  expect(readdirSync(shop.workspace)).toEqual([]);
});

test('a lock is made even if the staging folder was removed', async () => {
  const staging = Staging.create(shop.workspace);
  rmSync(sharedStagingFolder(assayFolder(shop.workspace)) ?? '', { recursive: true });
  const held = await owning(() => locks().map((lock) => readlinkSync(lock)), 'a');
  expect(held).toEqual([identityText(ownIdentity())]);
  staging.remove();
});

test('a run that waited for a lock is told so (O1)', async () => {
  const staging = Staging.create(shop.workspace);
  const order: string[] = [];
  const both = Promise.withResolvers<void>();
  const first = withOutputLocks(request('a'), { report: () => {} }, async () => {
    await both.promise;
    order.push('first');
  });
  const second = withOutputLocks(request('a'), { report: () => both.resolve() }, async (waited) =>
    order.push(`second, waited: ${waited}`),
  );
  await Promise.all([first, second]);
  expect(order).toEqual(['first', 'second, waited: true']);
  staging.remove();
});

test.each([
  ['inside its output', 'a/b', 'a'],
  ['that contains its output', 'a', 'a/b/c'],
])('a run waits for a run on a path %s (O1)', async (_name, first, second) => {
  const order: string[] = [];
  const begun = owning(() => pause(100).then(() => order.push('first')), first);
  await Promise.all([begun, owning((waited) => order.push(`second, waited: ${waited}`), second)]);
  expect(order).toEqual(['first', 'second, waited: true']);
});

test('sibling outputs, and names with the same prefix, do not overlap (O1)', async () => {
  await owning(() => owning((waited) => expect(waited).toBe(false), 'ab', 'a-b', 'b/a'), 'a', 'b/ab');
});

test('an output whose path is too long for a file name is locked too (O1)', async () => {
  const long = `${'ä/'.repeat(100)}x`;
  const order: string[] = [];
  const first = owning(() => pause(100).then(() => order.push('first')), long);
  await Promise.all([first, owning((waited) => order.push(`second, waited: ${waited}`), long)]);
  expect(order).toEqual(['first', 'second, waited: true']);
});

test('many runs with overlapping outputs never work at the same time, and all finish (O1, O2)', async () => {
  const working = new Map<string, number>();
  const wishes = [['a', 'b/c'], ['a/d', 'b'], ['b', 'a'], ['a/d/e', 'b/c/f'], ['c'], ['c/a', 'b/c']];
  const meets = (one: string, other: string) =>
    `${one}/`.startsWith(`${other}/`) || `${other}/`.startsWith(`${one}/`);
  const run = async (outputs: readonly string[]) => {
    for (let round = 0; round < 10; round++) {
      await owning(
        async () => {
          for (const output of outputs) {
            for (const other of working.keys())
              expect(meets(output, other) && `${output} ${other}`).toBe(false);
          }
          for (const output of outputs) working.set(output, round);
          await pause(2);
          for (const output of outputs) working.delete(output);
        },
        ...outputs,
      );
    }
  };
  await Promise.all(wishes.map(run));
  expect(readdirSync(shop.workspace)).toEqual([]);
});

test('runs of two processes on overlapping outputs run one after the other (O1)', async () => {
  const gate = join(shop.folder, 'gate');
  const slow = `mkdir -p out/sub; echo begun > out/begun; ${untilThere(gate)}; rm out/begun; echo whole > out/x`;
  const outer = shop.assay(['run', '--output', 'out', '--', 'sh', '-c', slow]);
  await expect.poll(() => shop.has('out/begun')).toBe(true);
  const script = 'test ! -e out/begun && mkdir -p out/sub && echo y > out/sub/y';
  const inner = await shop.assay(['run', '--output', 'out/sub', '--', 'sh', '-c', script], {
    onSaid: ({ stderr }) => stderr.includes('waiting for') && writeFileSync(gate, ''),
  });
  expect([(await outer).code, inner.code]).toEqual([0, 0]);
  expect(inner.stderr).toContain('waiting for another run that makes out\n');
});

/** The command line of a nested run. */
const inner = (args: string) => `ASSAY_STORE=${shop.store} ${FORMS[CLIENT_FORM].join(' ')} run ${args}`;

describe('a command that runs Assay (O5)', () => {
  const running = (output: string, within: string) => {
    const again = inner(`--output ${within} -- sh -c 'mkdir -p ${within}; echo x > ${within}/x'`);
    return shop.assay(['run', '--output', output, '--', 'sh', '-c', again]);
  };

  test.each([
    ['for the same output', 'a/b', 'a/b'],
    ['for a folder that contains its output', 'a/b', 'a'],
  ])('is refused %s', async (_name, output, inner) => {
    const { code, stderr } = await running(output, inner);
    expect(code).toBe(125);
    expect(stderr).toContain(
      `ASSAY_RUN_WITHIN_ITSELF: ${inner} is made by the run that this one is a part of`,
    );
  });

  test.each([
    ['for a part of its output', 'a', 'a/b'],
    ['for another output', 'a', 'b'],
  ])('works %s', async (_name, output, inner) => {
    const { code, stderr } = await running(output, inner);
    expect([code, stderr.includes('waiting')]).toEqual([0, false]);
    expect(shop.has(`${inner}/x`)).toBe(true);
  });
});

test('a nested run in one step waits for another step of the same graph (O1, O5)', async () => {
  const one = 'mkdir -p out/x; echo one > out/x/f; sleep 3; echo done > out/done';
  const other = `sleep 1; ${inner("--output out/x -- sh -c 'mkdir -p out/x; echo two > out/x/f'")}; echo > s2`;
  const steps = {
    s1: { command: one, inputs: [], outputs: ['out'] },
    s2: { command: other, inputs: [], outputs: ['s2'], hermetic: 'off' },
    s3: { command: `sleep 1; ${inner('s1')} && echo > s3`, inputs: [], outputs: ['s3'], hermetic: 'off' },
  };
  shop.write('assay.json', JSON.stringify({ steps }));
  const ran = await shop.assay(['run', '--jobs', '3', 's1', 's2', 's3']);
  expect(ran.stderr).not.toContain('ASSAY_RUN_WITHIN_ITSELF');
  expect(ran.code).toBe(0);
  rmSync(join(shop.workspace, 'out'), { recursive: true });
  expect((await shop.assay(['run', 's1'])).code).toBe(0);
  expect(readFileSync(join(shop.workspace, 'out/x/f'), 'utf8')).toBe('one\n');
});

test('a waiting run holds no lock that the other run’s command needs (O2)', async () => {
  const waits = shop.assay([
    'run',
    '--output',
    'out',
    '--',
    'sh',
    '-c',
    `sleep 3; ${inner("--output out/sub/y -- sh -c 'mkdir -p out/sub; echo y > out/sub/y'")}`,
  ]);
  await expect.poll(() => existsSync(assayFolder(shop.workspace)) && locks().length).toBe(1);
  const beside = shop.assay(['run', '--output', 'out/sub', '--', 'sh', '-c', 'mkdir -p out/sub']);
  expect([(await waits).code, (await beside).code]).toEqual([0, 0]);
});

describe('other files in .assay (F5)', () => {
  const plain = () => shop.assay(['run', '--output', 'out', '--', 'sh', '-c', 'echo 1 > out']);

  test('are neither waited for nor removed', async () => {
    shop.write('.assay/lock-out', 'mine');
    shop.write('.assay/lock-out%2Fsub/x', 'mine');
    shop.link(`.assay/lock-out%2F${'z'.repeat(240)}`, 'garbage');
    shop.write('.assay/1-1-1', 'mine');
    shop.write('.assay/2024-01-15/data', 'mine');
    utimesSync(join(shop.workspace, '.assay/2024-01-15'), 0, 0);
    utimesSync(join(shop.workspace, '.assay/1-1-1'), 0, 0);
    expect((await plain()).code).toBe(0);
    for (const path of ['lock-out', 'lock-out%2Fsub/x', '1-1-1', '2024-01-15/data']) {
      expect(readFileSync(join(shop.workspace, '.assay', path), 'utf8')).toBe('mine');
    }
  });

  test('are not reached through a link to another folder', async () => {
    const other = shop.another('backups');
    mkdirSync(join(other, '1-1-1-1'));
    utimesSync(join(other, '1-1-1-1'), 0, 0);
    shop.link('.assay', '../backups');
    expect((await plain()).code).toBe(0);
    expect(readdirSync(other)).toEqual(['1-1-1-1']);
  });
});

test('a run whose command removed its lock does not remove another run’s lock (F2)', async () => {
  await owning(() => {
    rmSync(assayFolder(shop.workspace), { recursive: true });
    mkdirSync(assayFolder(shop.workspace));
    symlinkSync('1-1-1', join(assayFolder(shop.workspace), 'lock-a'));
  }, 'a');
  expect(locks()).toHaveLength(1);
});

test.each([
  ['the outer one first', '', 'x'.repeat(220)],
  ['the inner one first', 'x'.repeat(220), ''],
])('names that are too long for a file name exclude each other, %s (O1)', async (_name, first, second) => {
  const order: string[] = [];
  const at = (name: string) => ['out', name].filter(Boolean).join('/');
  const begun = owning(() => pause(100).then(() => order.push('first')), at(first));
  await Promise.all([begun, owning((waited) => order.push(`second, waited: ${waited}`), at(second))]);
  expect(order).toEqual(['first', 'second, waited: true']);
});

test('a waiting run that is cancelled stops waiting and holds no lock (O2)', async () => {
  const events: string[] = [];
  const throwIfCancelled = () => {
    if (events.push('asked') === 3) throw new Error('it is to end');
  };
  const inner = () =>
    withOutputLocks(
      request('a', 'b'),
      { report: ({ type }) => events.push(type), throwIfCancelled },
      async () => {},
    );
  await owning(async () => {
    await expect(inner()).rejects.toThrow('it is to end');
    expect(locks()).toHaveLength(1);
  }, 'b');
  expect(events).toEqual(['waiting', 'asked', 'asked']);
});

describe('the lock of a process that has ended', () => {
  const lock = () => join(assayFolder(shop.workspace), 'lock-a');
  const guard = () => join(assayFolder(shop.workspace), 'takeover-lock-a');
  beforeEach(() => {
    mkdirSync(assayFolder(shop.workspace));
    symlinkSync(identityText({ ...ownIdentity(), pid: 2 ** 30 }), lock());
  });

  test('is broken, and its guard is removed (F3)', () => {
    expect(breakIfAbandoned(lock(), new LockAges())).toBe('certain');
    expect(readdirSync(assayFolder(shop.workspace))).toEqual([]);
  });

  test('is not broken while another process breaks it, unless that one has died (F4)', () => {
    mkdirSync(guard());
    expect(breakIfAbandoned(lock(), new LockAges())).toBeUndefined();
    expect(locks()).toEqual([lock()]);
    utimesSync(guard(), 1, 1);
    expect(breakIfAbandoned(lock(), new LockAges())).toBeUndefined();
    expect(breakIfAbandoned(lock(), new LockAges())).toBe('certain');
  });
});
