// Publishing under output locks, and cleaning up after killed runs. O, F and R are the invariants at the top
// of client/outputs/output-lock.ts, lock-file.ts and run-records.ts.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chownSync,
  existsSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { REQUEST_DEFAULTS, type RunRequest } from '../../../client/action/request.ts';
import { fileDigests } from '../../../client/files/file-digest.ts';
import { StatIndex } from '../../../client/files/stat-index.ts';
import { LockAges } from '../../../client/outputs/lock-file.ts';
import { withOutputLocks } from '../../../client/outputs/output-lock.ts';
import type { Output } from '../../../client/outputs/outputs.ts';
import { restoreOutputs } from '../../../client/outputs/restore.ts';
import { assayFolder } from '../../../client/outputs/staging.ts';
import { digestOf } from '../../../core/digest.ts';
import { parseRelPath, ROOT } from '../../../core/path.ts';
import { identify, identityText, ownIdentity } from '../../../system/process/process-identity.ts';
import { baseEnvironment, FORMS, type RanWithSummary, Workshop } from '../../rig/assay.ts';
import { ServerProcess } from '../../rig/server.ts';
import { openMemoryStore } from '../../rig/stores/memory/store.ts';
import { inNamespaces } from '../../rig/users.ts';

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
  shop.write('in.txt', 'input');
});
afterEach(() => shop.remove());

const ACTION = ['--input', 'in.txt', '--output', 'out', '--hermetic=off'];
const home = () => assayFolder(shop.workspace);
const lock = () => join(home(), 'lock-out');
const text = (path: string) => readFileSync(join(shop.workspace, path), 'utf8');
const seen = (path: string) => expect.poll(() => shop.has(path)).toBe(true);

function run(script: string, ...flags: string[]): Promise<RanWithSummary> {
  return shop.run([...ACTION, ...flags, '--', 'sh', '-c', script]);
}

/** A run whose command writes the file `begun` and then waits for a file `go`. */
function waiting(script: string, ...flags: string[]) {
  const command = `echo > begun; while [ ! -e go ]; do sleep 0.02; done; ${script}`;
  const args = [...FORMS.source, 'run', '--json', ...ACTION, ...flags, '--', 'sh', '-c', command];
  const child = spawn(args[0] ?? '', args.slice(1), {
    cwd: shop.workspace,
    env: { ...baseEnvironment(), ASSAY_STORE: shop.store },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (more: string) => {
    said += more;
  });
  const ended = once(child, 'close').then(() => JSON.parse(said.trimEnd().split('\n').at(-1) || '{}'));
  return { child, ended };
}

describe('a result is published neither locally nor remotely', () => {
  test('if its lock was removed while it ran (O3)', async () => {
    const server = await ServerProcess.start(join(shop.folder, 'remote'));
    const remote = ['--remote', server.url];
    const cleaned = await run('rm -rf .assay; echo x > out', ...remote);
    expect(cleaned).toMatchObject({ code: 0, summary: { outcome: 'miss', published: false, shared: false } });
    expect(cleaned.summary.notPublished).toContain('git clean -fdx -e .assay');
    expect(text('out')).toBe('x\n');
    rmSync(shop.store, { recursive: true });
    expect((await run('rm -rf .assay; echo x > out', ...remote)).summary.outcome).toBe('miss');
    await server.stop();
    expect((await run('echo x > out')).summary.published).toBe(true);
  });

  test('if another container broke its lock; nor is that container’s result (O1, O3)', async () => {
    const first = waiting('echo first > out');
    await seen('begun');
    first.child.kill('SIGSTOP');
    lutimesSync(lock(), 1, 1);
    const container = inNamespaces('--pid', '--fork', '--mount-proc');
    const second = await shop.assayIn(container, [
      'run',
      '--json',
      ...ACTION,
      '--',
      'sh',
      '-c',
      'echo second > out',
    ]);
    expect(second.code).toBe(0);
    expect(second.stderr).toContain('stopped renewing its lock, but may still write them');
    shop.write('go', '');
    first.child.kill('SIGCONT');
    expect(await first.ended).toMatchObject({ exitCode: 0, published: false });
    expect((await run('echo second > out')).summary).toMatchObject({ outcome: 'miss', published: true });
  });

  test.each([
    ['if .assay is a file', () => shop.write('.assay', ''), 'rm '],
    ['if .assay is a link', () => shop.link('.assay', '../elsewhere'), 'rm '],
    ['if something else has the name of its lock', () => shop.write('.assay/lock-out/x', ''), 'rm -r '],
  ])('%s, and the message says what to do (O6)', async (_name, prepare, remedy) => {
    prepare();
    const ran = await run('echo x > out');
    expect(ran).toMatchObject({ code: 0, summary: { outcome: 'miss', published: false } });
    expect(ran.summary.notPublished).toMatch(`its outputs could not be locked: `);
    expect(ran.summary.notPublished).toContain(`${remedy}${shop.workspace}/.assay`);
  });

  test('if .assay belongs to another user (O6)', async () => {
    shop.write('.assay/x', '');
    for (const folder of [shop.folder, shop.workspace]) chownSync(folder, 65_534, 65_534);
    const ran = await shop.assayAsOrdinaryUser([
      'run',
      '--json',
      ...ACTION,
      '--',
      'sh',
      '-c',
      'echo x > out',
    ]);
    expect(ran.code).toBe(0);
    expect(ran.stderr).toContain('"published":false');
    expect(ran.stderr).toContain(`sudo rm -r ${shop.workspace}/.assay`);
  });
});

test('nothing is restored once the lock is lost (O4)', async () => {
  const store = openMemoryStore();
  const bytes = Buffer.from('restored');
  const digest = await store.blobs.put(digestOf(bytes), bytes);
  const output: Output = { kind: 'file', path: parseRelPath('out'), digest, executable: false };
  const digests = fileDigests(new StatIndex(join(shop.folder, 'index')), Date.now);
  await withOutputLocks(request(), { report: () => {} }, async (_waited, ownership) => {
    rmSync(home(), { recursive: true });
    const restored = restoreOutputs([output], shop.workspace, store.blobs, digests, { ownership });
    await expect(restored).rejects.toThrow('its lock was removed');
  });
  expect(shop.has('out')).toBe(false);
});

const request = (): RunRequest => ({
  ...REQUEST_DEFAULTS,
  workspace: shop.workspace,
  workingDirectory: ROOT,
  command: ['true'],
  inputs: [],
  outputs: [parseRelPath('out')],
  variables: [],
  tools: [],
});

test('a run waits for another run whose lock was removed (O1, R2)', async () => {
  const first = waiting('echo first > out; echo > ended');
  await seen('begun');
  rmSync(home(), { recursive: true });
  const second = shop.assay(['run', ...ACTION, '--', 'sh', '-c', 'test -e ended && echo second > out']);
  await expect.poll(() => shop.has('.assay')).toBe(true);
  shop.write('go', '');
  expect(await first.ended).toMatchObject({ exitCode: 0, published: false });
  const { code, stderr } = await second;
  expect(stderr).toContain('waiting for another run that makes out\n');
  expect(code).toBe(0);
});

describe('a file in a workspace', () => {
  test('does not make Assay kill a process or delete a folder (F5, R4)', async () => {
    const victim = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' });
    const identity = identify(victim.pid ?? 0);
    if (!identity) throw new Error('it runs');
    for (const folder of [home(), assayFolder(shop.folder)]) {
      const planted = join(folder, `${identity.namespace}-999999-1-0`);
      mkdirSync(planted, { recursive: true });
      writeFileSync(join(planted, 'command-0'), `${identityText(identity)}\n["out"]`);
    }
    expect((await run('echo x > out')).summary.published).toBe(true);
    expect(victim.kill('SIGTERM') && victim.exitCode).toBe(null);
    await once(victim, 'exit');
    expect(victim.signalCode).toBe('SIGTERM');
    for (const folder of [home(), assayFolder(shop.folder)])
      expect(existsSync(join(folder, `${identity.namespace}-999999-1-0`))).toBe(true);
  });

  test('makes Assay wait only until it was not touched for long (F3)', async () => {
    mkdirSync(home());
    symlinkSync(identityText(ownIdentity()), lock());
    lutimesSync(lock(), 1, 1);
    expect((await run('echo x > out')).summary).toMatchObject({ exitCode: 0, published: false });
    expect((await run('echo x > out')).summary).toMatchObject({ exitCode: 0, published: true });
  });

  test('is not waited for longer if its time is in the future (F3)', () => {
    mkdirSync(home());
    symlinkSync('1-1-1', lock());
    const future = Date.now() + 1e9;
    lutimesSync(lock(), future / 1000, future / 1000);
    vi.useFakeTimers({ toFake: ['Date'] });
    try {
      const silences = new LockAges();
      expect(silences.of(lock())).toBe(0);
      vi.setSystemTime(Date.now() + 30_000);
      expect(silences.of(lock())).toBe(30_000);
    } finally {
      vi.useRealTimers();
    }
  });
});

test('the next run ends the command of a killed run and removes its folders; only the user can read the records (R1, R3)', async () => {
  const first = waiting('echo late > out', '--state', 'kept');
  await seen('begun');
  const user = process.getuid?.() ?? 0;
  const places = [`/run/user/${user}/assay`, `/tmp/assay-${user}`].filter((place) => existsSync(place));
  const files = places.flatMap((place) => readdirSync(place).map((name) => join(place, name)));
  expect(places.map((place) => statSync(place).mode & 0o777)).toEqual(places.map(() => 0o700));
  expect(files.length).toBeGreaterThan(0);
  for (const file of files) {
    const stats = lstatSync(file, { throwIfNoEntry: false });
    if (stats) expect(stats.mode & 0o777).toBe(0o600);
  }
  first.child.kill('SIGKILL');
  await once(first.child, 'exit');
  expect((await run('echo mine > out', '--state', 'kept')).code).toBe(0);
  shop.write('go', '');
  expect(readdirSync(shop.folder).includes('.assay')).toBe(false);
  expect(text('out')).toBe('mine\n');
  expect(shop.has('.assay')).toBe(false);
});
