// `assay run --check-hits`: a hit whose command runs all the same, and what is found, said and kept.
import { execFileSync, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { baseEnvironment, CLIENT_FORM, FORMS, Workshop } from '../../../test/rig/assay.ts';
import { runSteps } from '../../../test/rig/graph.ts';
import { ServerProcess } from '../../../test/rig/server.ts';
import { settled } from '../../../test/rig/waiting.ts';
import { falsifyExit, falsifyOutput, storedResults } from './stale.ts';

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
  shop.write('in.txt', 'in\n');
});
afterEach(() => shop.remove());

const inWorkspace = (path: string) => readFileSync(join(shop.workspace, path), 'utf8');
const HIDDEN = join(import.meta.dirname, 'hidden.py');

/** A command that behaves in each run as the next word says, for a reason that Assay can't see (hidden.py). */
function hidden(output: string, ...behaviours: string[]): string[] {
  const key = String(randomInt(2 ** 31));
  onTestFinished(() => void execFileSync('python3', [HIDDEN, key, 'drop']));
  shop.write('hidden.py', readFileSync(HIDDEN));
  return ['python3', 'hidden.py', key, output, ...behaviours];
}

/** The same as an action. */
function hiddenAction(...behaviours: string[]): string[] {
  return [
    '--input',
    'hidden.py',
    '--input',
    'in.txt',
    '--output',
    'out',
    '--',
    ...hidden('out', ...behaviours),
  ];
}

const ACTION = ['--input', 'in.txt', '--output', 'out', '--'];
const COPY = [...ACTION, 'sh', '-c', 'cat in.txt > out; echo done'];
const run = (flags: readonly string[], action: readonly string[] = COPY, env: Record<string, string> = {}) =>
  shop.run([...flags, ...action], { env });

interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stderr: string;
}

/** Sends a signal to `assay` itself when its command has said this. */
function endedWhen(word: string, args: readonly string[], signal: NodeJS.Signals): Promise<Ended> {
  const [program, ...before] = FORMS[CLIENT_FORM];
  const child = spawn(program, [...before, ...args], {
    cwd: shop.workspace,
    env: { ...baseEnvironment(), ASSAY_STORE: shop.store },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return new Promise((resolve) => {
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
      if (stdout.includes(word)) child.kill(signal);
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.once('exit', (code, by) => resolve({ code, signal: by, stderr }));
  });
}

describe('a single command', () => {
  test('whose hit is right is a hit, checked', async () => {
    expect((await run(['--check-hits'])).summary).toMatchObject({ outcome: 'miss' });
    const { summary, stdout } = await run(['--check-hits']);
    expect(summary).toMatchObject({ outcome: 'hit-local', checked: 'same', exitCode: 0, published: false });
    expect(stdout).toBe('done\n');
    const { stderr } = await shop.assay(['run', '--check-hits', '--check-seed=s1', ...COPY]);
    expect(stderr).toMatch(/^assay: checks hits \(--check-hits=100 --check-seed=s1\)\n/);
    expect(stderr).toMatch(/assay: hit \(local\), checked [0-9a-f]{12}, ran \d+/);
  });

  test('runs its command, though it is up to date; its outputs are set aside', async () => {
    const guarded = 'test -e out && exit 9; cat in.txt > out';
    const action = [...ACTION, 'sh', '-c', guarded];
    await run([], action);
    for (const path of ['out', 'in.txt']) await settled(join(shop.workspace, path));
    await run([], action);
    expect((await run([], action)).summary.reason).toBe('found in place');
    const before = readFileSync(join(shop.workspace, 'out'));
    const { summary } = await run(['--check-hits'], action);
    expect(summary).toMatchObject({ outcome: 'hit-local', checked: 'same', exitCode: 0 });
    expect(readFileSync(join(shop.workspace, 'out'))).toEqual(before);
  });

  test('is not run if the seed does not choose its key; the same seed always decides the same', async () => {
    await run([]);
    const seeds = ['a', 'b', 'c', 'd', 'e', 'f'];
    const checked = async (seed: string) =>
      (await run(['--check-hits=50', `--check-seed=${seed}`])).summary.checked;
    const first = [];
    for (const seed of seeds) first.push(await checked(seed));
    const again = [];
    for (const seed of seeds) again.push(await checked(seed));
    expect(again).toEqual(first);
    expect(new Set(first)).toEqual(new Set([undefined, 'same']));
  });

  test('says a log that differs, and no more', async () => {
    const action = [...ACTION, 'sh', '-c', 'cat in.txt > out; date +%s%N'];
    await run([], action);
    const { summary } = await run(['--check-hits'], action);
    expect(summary).toMatchObject({ outcome: 'hit-local', checked: 'same', exitCode: 0 });
    expect(summary.warnings).toEqual(['its outputs are those of the stored result, but its stdout differs']);
    expect(summary).not.toHaveProperty('diverged');
  });

  test('whose stored result was falsified: the hit is stale, and nothing of the store changes', async () => {
    await run([]);
    expect(await falsifyOutput(shop.store, 'out', 'if\n')).toBe(1);
    rmSync(join(shop.workspace, 'out'));
    expect((await run([])).summary.outcome).toBe('hit-local');
    expect(inWorkspace('out')).toBe('if\n');
    const before = await storedResults(shop.store);
    const { summary } = await run(['--check-hits']);
    expect(summary).toMatchObject({
      outcome: 'hit-local',
      checked: 'different',
      diverged: true,
      exitCode: 0,
      published: false,
    });
    expect(summary.warnings[0]).toBe(
      'STALE HIT: two runs of this command agree, and the stored result differs: out differs from byte 1 on (3 B and 3 B)',
    );
    expect(inWorkspace('out')).toBe('in\n');
    const after = await storedResults(shop.store);
    expect(after.served).toEqual(before.served);
    expect(after.rivals).toHaveLength(1);
    const { stdout } = await shop.assay(['divergences', '--store', shop.store]);
    expect(stdout).toContain('out differs from byte 1 on (3 B and 3 B)');
    expect(stdout).toContain('a check of the first made the second, twice: the first is stale');
    expect((await run([])).summary).toMatchObject({ outcome: 'hit-local', outputsWritten: 1 });
    expect(inWorkspace('out')).toBe('if\n');
  });

  test('fails with 3 under --hermetic=strict, if its hit is stale', async () => {
    const strict = ['--hermetic=strict', '--input', 'in.txt', '--output', 'out', '--', 'cp', 'in.txt', 'out'];
    expect((await run([], strict)).summary).toMatchObject({ outcome: 'miss', status: 'declared' });
    expect((await run(['--check-hits'], strict)).summary).toMatchObject({ checked: 'same', exitCode: 0 });
    await falsifyOutput(shop.store, 'out', 'if\n');
    const { code, summary } = await run(['--check-hits'], strict);
    expect(code).toBe(3);
    expect(summary).toMatchObject({ outcome: 'hit-local', checked: 'different', exitCode: 3 });
    expect(inWorkspace('out')).toBe('in\n');
    expect((await storedResults(shop.store)).rivals).toHaveLength(1);
  });

  test('names the accesses that the stored result has no fact for', async () => {
    const action = ['--input', 'in.txt', '--output', 'out', '--', 'sh', '-c', 'cat in.txt > out'];
    await run([], action);
    await falsifyOutput(shop.store, 'out', 'if\n');
    const { summary } = await run(['--check-hits'], action);
    expect(summary.warnings[1]).toMatch(
      /^the stored result has (?:no fact for these|a fact for each access)/,
    );
    expect(summary.warnings[1]).not.toMatch(/in\.txt|read \/usr\/lib/);
  });

  test('that depends on what Assay can’t see is a stale hit', async () => {
    const action = hiddenAction('a', 'b');
    expect((await run([], action)).summary.published).toBe(true);
    const { summary, stdout } = await run(['--check-hits'], action);
    expect(summary).toMatchObject({ outcome: 'hit-local', checked: 'different', exitCode: 0 });
    expect([inWorkspace('out'), stdout]).toEqual(['b', 'ran\n']);
    expect((await run([], action)).summary.outcome).toBe('hit-local');
    expect(inWorkspace('out')).toBe('a');
  });

  test('whose runs differ from one another is unstable, and not stale', async () => {
    const action = hiddenAction('a', 'b', 'c');
    await run([], action);
    const before = await storedResults(shop.store);
    const { summary } = await run(['--check-hits'], action);
    expect(summary).toMatchObject({ outcome: 'hit-local', checked: 'unstable', diverged: true, exitCode: 0 });
    expect(summary.warnings[0]).toMatch(/^UNSTABLE: two runs of this command differ .*`assay reproduce`/);
    expect(inWorkspace('out')).toBe('c');
    const after = await storedResults(shop.store);
    expect(after.served).toEqual(before.served);
    expect(after.rivals).toHaveLength(1);
  });

  test('whose second run makes what is stored is unstable, and the first run’s result is kept', async () => {
    const action = hiddenAction('a', 'b', 'a');
    await run([], action);
    expect((await run(['--check-hits'], action)).summary.checked).toBe('unstable');
    const { stdout } = await shop.assay(['divergences', '--store', shop.store]);
    expect(stdout).toContain('out differs from byte 0 on (1 B and 1 B)');
  });

  test('that fails now, and succeeded when its result was stored, is a stale hit with its own exit code', async () => {
    const action = [
      '--input',
      'in.txt',
      '--output',
      'out',
      '--',
      'sh',
      '-c',
      'echo said; cat in.txt > out; exit 7',
    ];
    const cached = ['--cache-failures', ...action];
    expect((await run([], cached)).code).toBe(7);
    expect(await falsifyExit(shop.store, 'said', 0)).toBe(1);
    const hit = await run([], action);
    expect(hit.summary).toMatchObject({ outcome: 'hit-local', exitCode: 0 });
    const { code, summary, stdout } = await run(['--check-hits'], action);
    expect(code).toBe(7);
    expect(summary).toMatchObject({ outcome: 'hit-local', checked: 'different', exitCode: 7 });
    expect(summary.warnings[0]).toContain('the command ends with 7 now, and ended with 0 then');
    expect(stdout).toBe('said\n');
    expect((await storedResults(shop.store)).rivals).toHaveLength(1);
    const { stdout: listed } = await shop.assay(['divergences', '--store', shop.store]);
    expect(listed).toContain('exit code 0 and 7');
    expect((await run(['--check-hits', '--hermetic=strict'], action)).code).toBe(3);
  });

  test('whose stored failure is stale keeps that failure', async () => {
    const action = ['--cache-failures', ...ACTION, 'sh', '-c', 'echo said; cat in.txt > out'];
    await run([], action);
    await falsifyExit(shop.store, 'said', 5);
    expect((await run([], action)).code).toBe(5);
    const before = await storedResults(shop.store);
    const { code, summary } = await run(['--check-hits'], action);
    expect([code, summary.checked]).toEqual([0, 'different']);
    const after = await storedResults(shop.store);
    expect(after.served).toEqual(before.served);
    expect(after.rivals).toHaveLength(1);
    expect((await run([], action)).code).toBe(5);
  });

  test('that fails in its second run is unstable, fails, and says what that run said', async () => {
    const action = hiddenAction('a', 'b', '!4');
    await run([], action);
    const { code, summary, stdout } = await run(['--check-hits'], action);
    expect([code, summary.checked, summary.exitCode]).toEqual([4, 'unstable', 4]);
    expect(stdout).toBe('ran\nran\n');
  });

  test('that fails in its first run only is unstable, and succeeds', async () => {
    const action = hiddenAction('a', '!4', 'a');
    await run([], action);
    const { code, summary } = await run(['--check-hits'], action);
    expect([code, summary.checked, inWorkspace('out')]).toEqual([0, 'unstable', 'a']);
  });

  test('with outputs that are folders and links is compared as a whole', async () => {
    const make =
      'mkdir -p dist/empty dist/sub; cp in.txt dist/sub/a; ln -s sub/a dist/link; chmod +x dist/sub/a';
    const action = ['--input', 'in.txt', '--output', 'dist', '--output', 'link', '--', 'sh', '-c'];
    const whole = [...action, `${make}; ln -s dist link`];
    await run([], whole);
    expect((await run(['--check-hits'], whole)).summary.checked).toBe('same');
    expect(readlinkSync(join(shop.workspace, 'dist/link'))).toBe('sub/a');
    expect(existsSync(join(shop.workspace, 'dist/empty'))).toBe(true);
    expect(readlinkSync(join(shop.workspace, 'link'))).toBe('dist');
  });

  test('with state runs clean, and is the same', async () => {
    const action = ['--input', 'in.txt', '--output', 'out', '--state', 'st', '--', 'sh', '-c'];
    const command = 'mkdir -p st; test -e st/x && echo old >> out; echo 1 > st/x; cat in.txt >> out';
    await run([], [...action, command]);
    expect((await run(['--check-hits'], [...action, command])).summary.checked).toBe('same');
  });

  test('whose result is unproven is never checked', async () => {
    const action = [
      '--keep-unproven=local',
      ...ACTION,
      'sh',
      '-c',
      'cat in.txt > out; cat /proc/uptime > /dev/null',
    ];
    expect((await run([], action)).summary).toMatchObject({ status: 'unproven', published: true });
    const { summary } = await run(['--check-hits'], action);
    expect(summary.outcome).toBe('hit-local');
    expect(summary).not.toHaveProperty('checked');
  });

  test.each([
    ['first', ['a', '+b']],
    ['second', ['a', 'b', '+b']],
  ])('whose input changes during the %s run of its check has no verdict', async (_which, behaviours) => {
    const action = hiddenAction(...behaviours);
    await run([], action);
    const before = await storedResults(shop.store);
    const { summary } = await run(['--check-hits'], action);
    expect(summary).toMatchObject({ outcome: 'miss', published: false });
    expect(summary).not.toHaveProperty('checked');
    expect(summary.warnings.join()).toContain('the hit could not be checked: ');
    expect(await storedResults(shop.store)).toEqual(before);
  });

  test('killed during its check leaves a workspace in which the next run hits', async () => {
    const action = hiddenAction('a', '~b', 'a');
    await run([], action);
    const ended = await endedWhen('waiting', ['run', '--check-hits', ...action], 'SIGKILL');
    expect(ended.signal).toBe('SIGKILL');
    const { summary } = await run([], action);
    expect(summary.outcome).toBe('hit-local');
    expect(inWorkspace('out')).toBe('a');
    expect(readdirSync(shop.workspace).sort()).toEqual(['hidden.py', 'in.txt', 'out']);
    expect((await run(['--check-hits'], action)).summary.checked).toBe('same');
  });

  test('interrupted during its check has no verdict, and ends as interrupted', async () => {
    const action = hiddenAction('a', '~b', 'a');
    await run([], action);
    const before = await storedResults(shop.store);
    const ended = await endedWhen('waiting', ['run', '--check-hits', ...action], 'SIGINT');
    expect(ended.code).toBe(130);
    expect(ended.stderr).toContain('the hit could not be checked: it was interrupted by SIGINT');
    expect(await storedResults(shop.store)).toEqual(before);
  });

  test.each(['--force'])('is refused with %s', async (flag) => {
    const { code, stderr } = await shop.assay(['run', '--check-hits', flag, ...COPY]);
    expect(code).toBe(125);
    expect(stderr).toContain(`--check-hits and ${flag} can’t be combined`);
  });
});

describe('a graph', () => {
  const graph = (flags: readonly string[] = [], ...steps: string[]) =>
    runSteps(shop, [...flags, '--jobs', '8', ...(steps.length > 0 ? steps : ['all'])]);
  const LEAVES = Array.from({ length: 10 }, (_, at) => `leaf${at}`);

  /** gen depends on what Assay can’t see; the leaves read what it makes. */
  function write(hermetic: string, ...behaviours: string[]): void {
    const leaf = (name: string) => ({
      command: `cat gen.out > ${name}.out`,
      inputs: ['gen.out'],
      outputs: [`${name}.out`],
      dependsOn: ['gen'],
    });
    const steps = {
      gen: {
        command: hidden('gen.out', ...behaviours),
        inputs: ['hidden.py'],
        outputs: ['gen.out'],
        ...(hermetic && { hermetic }),
      },
      ...Object.fromEntries(LEAVES.map((name) => [name, leaf(name)])),
      all: {
        command: 'cat leaf*.out > all.out',
        inputs: LEAVES.map((name) => `${name}.out`),
        outputs: ['all.out'],
      },
    };
    shop.write('assay.json', JSON.stringify({ steps }));
  }

  test('checks every step that hits, says the seed, and hits again afterwards', async () => {
    write('', 'a');
    await graph();
    await graph();
    const checked = await graph(['--check-hits']);
    expect(new Set(Object.values(checked.ends).map((end) => `${end.outcome} ${end.checked}`))).toEqual(
      new Set(['hit-local same']),
    );
    const { checkHits } = checked.summary;
    expect(checkHits).toMatchObject({ percent: 100, same: LEAVES.length + 2, different: 0, unstable: 0 });
    expect(checked.events[0]).toMatchObject({ checkHits: { percent: 100, seed: checkHits?.seed } });
    const again = await graph();
    expect(new Set(Object.values(again.outcomes))).toEqual(new Set(['hit-local']));
    const { stderr } = await shop.assay(['run', '--check-hits=100', '--check-seed=s7', 'all']);
    expect(stderr).toContain('assay: checks hits (--check-hits=100 --check-seed=s7)\n');
    expect(stderr).toMatch(/assay: leaf3 {2}hit \(local\), checked [0-9a-f]{12}, ran \d+/);
    expect(stderr).toContain(
      '  checked 12 hits (--check-hits=100 --check-seed=s7): 12 the same, 0 different, 0 unstable\n',
    );
  });

  test('checks a part of its hits, the same part with the same seed', async () => {
    write('', 'a');
    await graph();
    const part = async (seed: string) =>
      Object.values((await graph(['--check-hits=40', `--check-seed=${seed}`])).ends)
        .filter(({ checked }) => checked === 'same')
        .map(({ step }) => step)
        .sort();
    const first = await part('one');
    expect(first.length).toBeGreaterThan(0);
    expect(first.length).toBeLessThan(LEAVES.length + 2);
    expect(await part('one')).toEqual(first);
    expect(await part('two')).not.toEqual(first);
  });

  test('goes on with the fresh outputs of a stale hit', async () => {
    write('', 'a', 'b');
    await graph();
    const { ends, summary, code } = await graph(['--check-hits']);
    expect(ends.gen).toMatchObject({
      outcome: 'hit-local',
      checked: 'different',
      exitCode: 0,
      diverged: true,
    });
    expect(LEAVES.map((name) => ends[name]?.outcome)).toEqual(LEAVES.map(() => 'miss'));
    expect([code, inWorkspace('all.out')]).toEqual([0, 'b'.repeat(LEAVES.length)]);
    expect(summary.checkHits).toMatchObject({ same: 0, different: 1, unstable: 0 });
    const { stderr } = await shop.assay(['run', '--check-hits', 'gen']);
    expect(stderr).toContain('assay: gen: STALE HIT: ');
    expect(stderr).toMatch(/assay: gen {2}hit \(local\), checked: DIFFERENT/);
    expect(stderr).toContain('  STALE HITS: gen\n');
  });

  test('fails with 3 if a strict step is a stale hit', async () => {
    write('warn', 'a');
    shop.write('src.txt', 'src\n');
    const strict = {
      command: ['cp', 'src.txt', 'copy'],
      inputs: ['src.txt'],
      outputs: ['copy'],
      hermetic: 'strict',
    };
    const after = { command: ['cp', 'copy', 'last'], inputs: ['copy'], outputs: ['last'] };
    shop.write('assay.json', JSON.stringify({ steps: { strict, after } }));
    await graph([], 'after');
    expect((await graph(['--check-hits'], 'after')).summary.checkHits).toMatchObject({ same: 2 });
    await falsifyOutput(shop.store, 'copy', 'false\n');
    const { code, ends } = await graph(['--check-hits'], 'after');
    expect(code).toBe(3);
    expect(ends.strict).toMatchObject({ outcome: 'failed', exitCode: 3, checked: 'different' });
    expect(ends.strict).not.toHaveProperty('replayed');
    expect(ends.after?.outcome).toBe('skipped');
    expect(inWorkspace('copy')).toBe('src\n');
    const { stderr } = await shop.assay(['run', '--check-hits', 'after']);
    expect(stderr).toMatch(/assay: strict {2}failed with 3 [0-9a-f]{12}: a stale hit/);
  });

  test.each([['--force'], ['--watch'], ['--dry-run'], ['--graph']])('is refused with %s', async (flag) => {
    write('', 'a');
    const { code, stderr, stdout } = await shop.assay(['run', '--check-hits', flag, 'all']);
    expect([code, stdout]).toEqual([125, '']);
    expect(stderr).toContain(`--check-hits and ${flag} can’t be combined`);
  });
});

describe('with a server', () => {
  let server: ServerProcess;
  const start = async (...args: string[]) => {
    server = await ServerProcess.start(join(shop.folder, 'server'), { args });
  };
  afterEach(() => server.stop());
  const remote = () => ({ ASSAY_REMOTE: server.url });
  const forgetHere = () => rmSync(shop.store, { recursive: true });

  test('a hit of an empty local store is checked; a stale one is a divergence there, and on the page', async () => {
    await start();
    const action = hiddenAction('a', 'a', 'b');
    expect((await run([], action, remote())).summary.shared).toBe(true);
    forgetHere();
    const same = await run(['--check-hits'], action, remote());
    expect(same.summary).toMatchObject({ outcome: 'hit-remote', checked: 'same' });
    forgetHere();
    const { summary } = await run(['--check-hits'], action, remote());
    expect(summary).toMatchObject({ outcome: 'hit-remote', checked: 'different', shared: false });
    expect(summary.warnings.join('\n')).toContain(
      'is kept in the local store and at the remote as a divergence',
    );
    const listed = await shop.assay(['divergences', '--remote', server.url]);
    expect(listed.stdout).toContain('out differs from byte 0 on (1 B and 1 B)');
    const page = async () => (await fetch(`${server.url}/hermeticity`)).text();
    await expect.poll(page, { timeout: 20_000 }).toContain('stale hit');
    forgetHere();
    expect((await run([], action, remote())).summary.outcome).toBe('hit-remote');
    expect(inWorkspace('out')).toBe('a');
  });

  test('a server that takes no writes: it is said, and kept here', async () => {
    await start();
    const action = hiddenAction('a', 'b');
    await run([], action, remote());
    await server.stop();
    await start('--read-only');
    forgetHere();
    const { summary, code } = await run(['--check-hits'], action, remote());
    expect([code, summary.outcome, summary.checked]).toEqual([0, 'hit-remote', 'different']);
    expect(summary.warnings.join('\n')).toContain('is kept in the local store as a divergence');
    expect((await storedResults(shop.store)).rivals).toHaveLength(1);
  });

  test('what a check read in private is never sent', async () => {
    await start();
    const secret = join(shop.folder, 'secret');
    writeFileSync(secret, 'topsecret\n', { mode: 0o600 });
    const [, , key = '', , ...behaviours] = hidden('v', 'a', 'b');
    const command = `python3 hidden.py ${key} v ${behaviours.join(' ')}; if grep -q b v; then cat ${secret} > out; else echo x > out; fi`;
    const action = ['--input', 'hidden.py', '--output', 'v', '--output', 'out', '--', 'sh', '-c', command];
    expect((await run([], action, remote())).summary.shared).toBe(true);
    const { summary } = await run(['--check-hits'], action, remote());
    expect(summary.checked).toBe('different');
    expect(summary.warnings.join('\n')).toMatch(/for these accesses of this run: .*read \S*secret/);
    expect(summary.warnings.join('\n')).toContain('is kept in the local store as a divergence');
    expect(summary.warnings.join('\n')).toContain('and not sent: ');
    const listed = await shop.assay(['divergences', '--remote', server.url]);
    expect(listed.stdout).toContain('assay divergences: 0 divergences');
  });

  test('a local result that the server lacks: nothing of a check is published', async () => {
    await start();
    const action = hiddenAction('a', 'b');
    await run([], action);
    const { summary } = await run(['--check-hits'], action, remote());
    expect(summary.checked).toBe('different');
    expect(summary.warnings.join('\n')).toContain('is kept in the local store as a divergence');
    forgetHere();
    expect((await run([], action, remote())).summary.outcome).toBe('miss');
  });
});
