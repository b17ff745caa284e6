// Receipts: every hit says whose run made its result, and what was compared for it.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkedOutCommit, placeOf } from '../../../client/run/run-origin.ts';
import { digestOf } from '../../../core/digest.ts';
import { encodeReceipt, isWhere, receiptOf } from '../../../core/metadata/receipt.ts';
import type { Any } from '../../../core/proto/generated/google/protobuf/any.ts';
import { VERSION } from '../../../core/version.ts';
import { Workshop } from '../../rig/assay.ts';
import { ServerProcess } from '../../rig/server.ts';
import { settled } from '../../rig/waiting.ts';

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
});
afterEach(() => shop.remove());

function git(...args: string[]): string {
  const identity = ['-c', 'user.name=a', '-c', 'user.email=a@example.org'];
  return execFileSync('git', [...identity, ...args], { cwd: shop.workspace, encoding: 'utf8' }).trim();
}

function repository(...flags: string[]): void {
  git('init', '-q', ...flags);
  git('commit', '-q', '--allow-empty', '-m', 'one');
}

describe('the place', () => {
  test.each<[string, Record<string, string>, string]>([
    [
      'GitHub',
      { GITHUB_SERVER_URL: 'https://github.com', GITHUB_REPOSITORY: 'a/b', GITHUB_RUN_ID: '12' },
      'https://github.com/a/b/actions/runs/12',
    ],
    ['GitLab', { CI_JOB_URL: 'https://gitlab.com/a/b/-/jobs/7' }, 'https://gitlab.com/a/b/-/jobs/7'],
    [
      'Buildkite',
      { BUILDKITE_BUILD_URL: 'https://buildkite.com/a/b/builds/1' },
      'https://buildkite.com/a/b/builds/1',
    ],
    ['Jenkins', { JENKINS_URL: 'http://j/', BUILD_URL: 'http://j/job/a/3/' }, 'http://j/job/a/3/'],
    [
      'Azure Pipelines',
      { SYSTEM_COLLECTIONURI: 'https://dev.azure.com/o/', SYSTEM_TEAMPROJECT: 'p q', BUILD_BUILDID: '5' },
      'https://dev.azure.com/o/p%20q/_build/results?buildId=5',
    ],
    [
      'a job whose address has a password',
      { CI_JOB_URL: 'https://user:secret@host/job/1?token=secret#secret' },
      'https://host/job/1',
    ],
    ['the operator', { ASSAY_WHERE: 'build farm 3', CI_JOB_URL: 'https://host/1' }, 'build farm 3'],
  ])('of %s', (_name, variables, place) => {
    expect(placeOf(variables)).toBe(place);
  });

  test.each([
    ['BUILD_URL', 'http://host/'],
    ['CI_JOB_URL', 'javascript:alert(1)'],
    ['CI_JOB_URL', 'no address'],
    ['ASSAY_WHERE', 'two\nlines'],
    ['ASSAY_WHERE', '\u001b[31mred'],
    ['ASSAY_WHERE', 'x'.repeat(400)],
  ])('is not %s=%j', (name, value) => {
    const place = placeOf({ [name]: value });
    expect(place).not.toContain(value);
    expect(place === undefined || isWhere(place)).toBe(true);
  });
});

describe('the commit', () => {
  const head = () => git('rev-parse', 'HEAD');

  test('of a branch, loose or packed, of a detached head, and from a folder below', () => {
    repository();
    expect(checkedOutCommit(shop.workspace)).toBe(head());
    git('pack-refs', '--all');
    expect(checkedOutCommit(shop.workspace)).toBe(head());
    git('commit', '-q', '--allow-empty', '-m', 'two');
    expect(checkedOutCommit(shop.workspace)).toBe(head());
    git('checkout', '-q', '--detach', 'HEAD~1');
    mkdirSync(join(shop.workspace, 'a/b'), { recursive: true });
    expect(checkedOutCommit(join(shop.workspace, 'a/b'))).toBe(head());
  });

  test('of a worktree is its own', () => {
    repository();
    const tree = join(shop.folder, 'tree');
    git('worktree', 'add', '-q', '-b', 'other', tree);
    const own = execFileSync('git', ['-C', tree, 'rev-parse', 'HEAD'], { encoding: 'utf8' }).trim();
    git('commit', '-q', '--allow-empty', '-m', 'two');
    expect([checkedOutCommit(tree), checkedOutCommit(shop.workspace)]).toEqual([own, head()]);
    git('pack-refs', '--all');
    expect(checkedOutCommit(tree)).toBe(own);
  });

  test('is unknown without a repository, before the first commit, and if .git is damaged', () => {
    expect(checkedOutCommit(shop.workspace)).toBeUndefined();
    git('init', '-q');
    expect(checkedOutCommit(shop.workspace)).toBeUndefined();
    writeFileSync(join(shop.workspace, '.git/HEAD'), 'ref: ../../../etc/passwd\n');
    expect(checkedOutCommit(shop.workspace)).toBeUndefined();
    writeFileSync(join(shop.workspace, '.git/HEAD'), '\u001b[31m\n');
    expect(checkedOutCommit(shop.workspace)).toBeUndefined();
    rmSync(join(shop.workspace, '.git'), { recursive: true });
    writeFileSync(join(shop.workspace, '.git'), 'gitdir: /nowhere\n');
    expect(checkedOutCommit(shop.workspace)).toBeUndefined();
  });
});

describe('a hit', () => {
  const FLAGS = ['--input', 'in.txt', '--output', 'out', '--', 'sh', '-c'];
  const READS = 'cat in.txt > out; cat config >> out; if test -e extra; then :; fi; echo parts/* >> out';
  const run = (env: Record<string, string> = {}, flags: readonly string[] = []) =>
    shop.run([...flags, ...FLAGS, READS], { env });

  beforeEach(() => {
    shop.write('in.txt', 'in\n');
    shop.write('config', 'config\n');
    shop.write('parts/one', '');
  });

  test('says whose run it was, and what was compared; a miss has no receipt', async () => {
    repository();
    const before = Date.now();
    const made = await run({ ASSAY_WHERE: 'farm-1' });
    expect(made.summary.outcome).toBe('miss');
    expect(made.summary).not.toHaveProperty('receipt');
    rmSync(join(shop.workspace, 'out'));
    const { summary } = await run({ ASSAY_WHERE: 'farm-2' });
    expect(summary).toMatchObject({
      outcome: 'hit-local',
      receipt: {
        where: 'farm-1',
        commit: git('rev-parse', 'HEAD'),
        assay: VERSION,
        status: 'observed',
        inputs: 1,
        compared: 'contents',
      },
    });
    const { at = '', facts } = summary.receipt ?? {};
    expect(Date.parse(at)).toBeGreaterThanOrEqual(before - 1000);
    expect(Date.parse(at)).toBeLessThanOrEqual(Date.now());
    expect(facts?.listings).toBe(1);
    expect(facts?.absent).toBeGreaterThanOrEqual(1);
    expect(facts?.files).toBeGreaterThanOrEqual(2);
  });

  test('of an action that is up to date has the same receipt, compared by stats', async () => {
    await run({ ASSAY_WHERE: 'farm-1' });
    for (const path of ['out', 'in.txt', 'config', 'parts/one', 'parts'])
      await settled(join(shop.workspace, path));
    const first = (await run()).summary;
    const second = (await run()).summary;
    expect([first.reason, second.reason]).toEqual(['found in the local store', 'found in place']);
    expect(second.receipt).toEqual({ ...first.receipt, compared: 'stats' });
  });

  test('counts what is absent now, not what was absent when the path set was recorded', async () => {
    const absent = async () => {
      await run();
      rmSync(join(shop.workspace, 'out'));
      return (await run()).summary.receipt?.facts.absent ?? 0;
    };
    const without = await absent();
    shop.write('extra', '');
    expect(await absent()).toBe(without - 1);
  });

  test('prints its receipt in one line with -v', async () => {
    repository();
    await run({ ASSAY_WHERE: 'farm-1' });
    rmSync(join(shop.workspace, 'out'));
    const { stderr } = await shop.assay(['run', '-v', ...FLAGS, READS]);
    const [hit = '', receipt = '', ...more] = stderr.trimEnd().split('\n').slice(-2);
    expect(more).toEqual([]);
    expect(hit).toMatch(/^assay: hit \(local\)/);
    expect(receipt).toMatch(
      /^assay: made \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC by farm-1 at commit [0-9a-f]{12} from 1 input; observed; compared just now: \d+ files, .*1 listing/,
    );
    const quiet = await shop.assay(['run', ...FLAGS, READS]);
    expect(quiet.stderr).not.toContain('farm-1');
  });

  test('of a step has a receipt in the events and with -v, found in place or not', async () => {
    const steps = { a: { command: READS, inputs: ['in.txt'], outputs: ['out'] } };
    shop.write('assay.json', JSON.stringify({ steps }));
    const graph = (...flags: string[]) =>
      shop.assay(['run', ...flags, 'a'], { env: { ASSAY_WHERE: 'farm-1' } });
    await graph();
    for (const path of ['out', 'in.txt', 'config', 'assay.json', 'parts/one', 'parts'])
      await settled(join(shop.workspace, path));
    // A slow run has recorded its step already.
    rmSync(join(shop.store, 'client', 'graph'), { recursive: true, force: true });
    const receiptOf = ({ stdout }: { stdout: string }) =>
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line))
        .find(({ type }) => type === 'step-finished');
    const found = receiptOf(await graph('--json'));
    expect(found).toMatchObject({ outcome: 'hit-local', receipt: { where: 'farm-1', compared: 'contents' } });
    const inPlace = receiptOf(await graph('--json'));
    expect(inPlace).toMatchObject({ reason: 'found in place' });
    expect(inPlace.receipt).toEqual({ ...found.receipt, compared: 'stats' });
    rmSync(join(shop.workspace, 'out'));
    const restored = receiptOf(await graph('--json'));
    expect(restored).toMatchObject({ outputsWritten: 1, receipt: inPlace.receipt });
    expect((await graph('-v')).stderr).toContain('assay: a: made ');
    expect((await graph()).stderr).not.toContain('made ');
  });

  test('shows its receipt with `assay show`', async () => {
    repository();
    const { summary } = await run({ ASSAY_WHERE: 'farm-1' });
    const shown = await shop.assay(['show', summary.key]);
    expect(shown.stdout).toContain('ran on    farm-1\n');
    expect(shown.stdout).toContain(`commit    ${git('rev-parse', 'HEAD')}\n`);
    const { result } = JSON.parse((await shop.assay(['show', '--json', summary.key])).stdout);
    expect(result.receipt).toMatchObject({ where: 'farm-1', inputs: 1, assay: VERSION });
  });

  test('has no other variable of the run in its receipt', async () => {
    const secrets = { GITHUB_TOKEN: 'hush-1', CI_JOB_TOKEN: 'hush-2', ASSAY_TOKEN: 'hush-3', USER: 'hush-4' };
    const env = { ...secrets, CI_JOB_URL: 'https://hush-5:hush-6@host/job?private=hush-7' };
    const { summary } = await run(env);
    expect(summary.published).toBe(true);
    const shown = await shop.assay(['show', '--json', summary.key]);
    expect(shown.stdout).toContain('https://host/job');
    expect(shown.stdout).not.toContain('hush');
    expect(spawnSync('grep', ['-rq', 'hush', shop.store]).status).toBe(1);
  });
});

test('results of two machines that differ only in their receipts do not diverge', async () => {
  const server = await ServerProcess.start(join(shop.folder, 'server'));
  try {
    shop.write('in.txt', 'in\n');
    const on = (where: string, ...flags: string[]) =>
      shop.run(
        [
          ...['--store', join(shop.folder, where), '--remote', server.url, ...flags],
          ...['--input', 'in.txt', '--output', 'out', '--', 'sh', '-c', 'cat in.txt > out'],
        ],
        { env: { ASSAY_WHERE: where } },
      );
    expect((await on('one')).summary).toMatchObject({ published: true, shared: true });
    const forced = await on('two', '--force');
    expect(forced.summary).toMatchObject({ outcome: 'miss', published: true, shared: true });
    expect(forced.summary).not.toHaveProperty('diverged');
    expect(forced.summary.warnings).toEqual([]);
    expect((await on('three')).summary).toMatchObject({ outcome: 'hit-remote', receipt: { where: 'one' } });
    expect((await on('two')).summary).toMatchObject({ outcome: 'hit-local', receipt: { where: 'two' } });
  } finally {
    await server.stop();
  }
});

describe('a result of another client', () => {
  const at = { seconds: 1_700_000_000, nanos: 5e6 };
  const metadata = (worker: string, ...auxiliaryMetadata: Any[]) => ({
    executionMetadata: {
      worker,
      executionStartTimestamp: at,
      executionCompletedTimestamp: at,
      auxiliaryMetadata,
    },
  });

  test('tells what the Remote Execution API has', () => {
    expect(receiptOf({})).toEqual({});
    expect(receiptOf(metadata(''))).toEqual({ at: '2023-11-14T22:13:20.005Z' });
    expect(receiptOf(metadata('worker-7'))).toMatchObject({ where: 'worker-7' });
  });

  test('tells nothing that a terminal would obey, and a malformed receipt costs nothing', () => {
    expect(receiptOf(metadata('\u001b[31mred'))).not.toHaveProperty('where');
    const bad = encodeReceipt(digestOf(Buffer.from('action')).hash, { commit: '\u001b[31m', assay: '1\n2' });
    expect(receiptOf(metadata('a', bad))).toEqual({ at: expect.any(String), where: 'a', inputs: 0 });
    const torn = { ...bad, value: Buffer.from([0x0a, 0x7f]) };
    expect(receiptOf(metadata('a', torn))).toEqual({ at: expect.any(String), where: 'a' });
    const early = {
      executionMetadata: {
        worker: '',
        executionStartTimestamp: { seconds: 1e18, nanos: 0 },
        auxiliaryMetadata: [],
      },
    };
    expect(receiptOf(early)).toEqual({});
  });
});
