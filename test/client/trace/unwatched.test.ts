// A result of a run that nobody watched is unproven: it is neither kept nor taken, unless the run asks for it.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FORMS, type RanWithSummary, runProcess, Workshop } from '../../rig/assay.ts';
import { runSteps } from '../../rig/graph.ts';
import { ServerProcess } from '../../rig/server.ts';

let shop: Workshop;
let server: ServerProcess | undefined;

beforeEach(() => {
  shop = new Workshop();
  shop.write('in.txt', 'input\n');
  shop.write('../outside/conf', 'c1\n');
});

afterEach(async () => {
  await server?.stop();
  server = undefined;
  shop.remove();
});

const out = () => readFileSync(join(shop.workspace, 'out'), 'utf8');

function run(script: string, ...flags: string[]): Promise<RanWithSummary> {
  return shop.run([...flags, '--input', 'in.txt', '--output', 'out', '--', 'sh', '-c', script]);
}

const outcome = async (ran: Promise<RanWithSummary>) => (await ran).summary.outcome;

/** Flags of a machine of its own, which shares a server with the others. */
function elsewhere(name: string): string[] {
  return ['--remote', server?.url ?? '', '--store', join(shop.folder, name)];
}

async function serve(): Promise<void> {
  server = await ServerProcess.start(join(shop.folder, 'served'));
}

const COPY = 'cat in.txt > out';
const STRACE = "cat ../outside/conf; strace -f -o /dev/null sh -c 'cat in.txt ../outside/conf > out'";
/** Fails under the tracer: a process may not trace another one there. */
const AGAIN = 'it failed under the tracer';

describe('a command that fails under the tracer and runs once more without it', () => {
  test('is not kept, and its message says what keeps it', async () => {
    for (let time = 0; time < 2; time++) {
      const ran = await run(STRACE);
      expect(ran).toMatchObject({
        code: 0,
        summary: { outcome: 'miss', published: false, status: 'unwatched' },
      });
      expect(ran.summary.notPublished).toContain(AGAIN);
      expect(ran.summary.notPublished).toContain('--keep-unproven=local keeps it');
    }
    shop.write('../outside/conf', 'c2\n');
    await run(STRACE);
    expect(out()).toBe('input\nc2\n');
  });

  test('a program with the address sanitizer, which reads an undeclared file', async () => {
    const source = shop.write(
      'leak.c',
      '#include <stdio.h>\nint main(void) { FILE *f = fopen("../outside/conf", "r"); putchar(fgetc(f)); putchar(fgetc(f)); return 0; }\n',
    );
    execFileSync('gcc', ['-fsanitize=address', '-o', join(shop.workspace, 'leak'), source]);
    const leak = () => shop.run(['--input', 'leak', '--output', 'out', '--', 'sh', '-c', './leak > out']);
    expect((await leak()).summary).toMatchObject({ published: false, status: 'unwatched' });
    shop.write('../outside/conf', 'c2\n');
    await leak();
    expect(out()).toBe('c2');
  });

  test('a flaky script with unshare', async () => {
    const script =
      'unshare -m true; test -e ../again || { : > ../again; exit 1; }; cat in.txt ../outside/conf > out';
    const ran = await run(script);
    expect(ran.stderr).toContain(AGAIN);
    expect(ran).toMatchObject({ code: 0, summary: { published: false, status: 'unwatched' } });
  });

  test('carries what the first attempt was seen to read', async () => {
    const first = await run(STRACE, '--keep-unproven=local');
    expect(first.summary).toMatchObject({ published: true, status: 'unwatched' });
    expect(first.summary.findings).toContainEqual(
      expect.objectContaining({ kind: 'read', path: '../outside/conf' }),
    );
    expect(await outcome(run(STRACE, '--keep-unproven=local'))).toBe('hit-local');
    shop.write('../outside/conf', 'c2\n');
    expect(await outcome(run(STRACE, '--keep-unproven=local'))).toBe('miss');
    expect(out()).toBe('input\nc2\n');
  });

  test('is kept and taken here with --keep-unproven=local, and each line says so', async () => {
    await serve();
    const flags = [...elsewhere('one'), '--keep-unproven=local'];
    const first = await run(STRACE, ...flags);
    expect(first.summary).toMatchObject({ published: true, shared: false, status: 'unwatched' });
    expect((await run(STRACE, ...flags)).summary).toMatchObject({
      outcome: 'hit-local',
      status: 'unwatched',
    });
    const said = await shop.assay([
      'run',
      ...flags,
      '--input',
      'in.txt',
      '--output',
      'out',
      '--',
      'sh',
      '-c',
      STRACE,
    ]);
    expect(said.stderr).toContain('hit (local, unwatched)');
    expect(await outcome(run(STRACE, ...elsewhere('one')))).toBe('miss');
    expect(await outcome(run(STRACE, ...elsewhere('two'), '--keep-unproven=shared'))).toBe('miss');
  });

  test('is shared with --keep-unproven=shared, and only a run that says so takes it', async () => {
    await serve();
    const shared = (store: string) => run(STRACE, ...elsewhere(store), '--keep-unproven=shared');
    expect((await shared('one')).summary).toMatchObject({ shared: true, status: 'unwatched' });
    const refused = await run(STRACE, ...elsewhere('two'), '--keep-unproven=local');
    expect(refused.summary.outcome).toBe('miss');
    expect(refused.stderr).toContain('the remote’s result is unwatched');
    expect((await shared('three')).summary).toMatchObject({ outcome: 'hit-remote', status: 'unwatched' });
    expect((await shared('three')).summary).toMatchObject({ outcome: 'hit-local', status: 'unwatched' });
  });
});

describe('a run with --hermetic=off', () => {
  const OFF = '--hermetic=off';

  test('keeps and takes its result here', async () => {
    expect((await run(COPY, OFF)).summary).toMatchObject({ published: true, status: 'unwatched' });
    for (let time = 0; time < 3; time++)
      expect((await run(COPY, OFF)).summary).toMatchObject({ outcome: 'hit-local', status: 'unwatched' });
  });

  test.each([[], ['--keep-unproven=local'], ['--keep-unproven=shared'], ['--hermetic=strict']])(
    'its result is not taken by a watched run %s',
    async (...flags) => {
      for (let time = 0; time < 3; time++) await run(COPY, OFF);
      expect(await outcome(run(COPY, ...flags))).toBe('miss');
      expect(await outcome(run(COPY, ...flags))).toBe('hit-local');
      expect((await run(COPY, OFF)).summary).toMatchObject({ outcome: 'hit-local', status: 'declared' });
    },
  );

  test('shares nothing, and takes nothing unwatched from a remote', async () => {
    await serve();
    expect((await run(COPY, ...elsewhere('one'), OFF)).summary).toMatchObject({
      published: true,
      shared: false,
    });
    expect(await outcome(run(COPY, ...elsewhere('two'), OFF))).toBe('miss');
    await run(COPY, ...elsewhere('three'), OFF, '--keep-unproven=shared');
    expect(await outcome(run(COPY, ...elsewhere('four'), OFF))).toBe('miss');
    expect(await outcome(run(COPY, ...elsewhere('four'), OFF, '--keep-unproven=shared'))).toBe('hit-local');
  });

  test('takes a watched result', async () => {
    await serve();
    await run(COPY, ...elsewhere('one'));
    expect((await run(COPY, ...elsewhere('two'), OFF)).summary).toMatchObject({
      outcome: 'hit-remote',
      status: 'declared',
    });
  });

  test('its wrong result gives way to that of a watched run', async () => {
    const script = 'cat in.txt ../outside/conf > out';
    await run(script);
    shop.write('../outside/conf', 'c2\n');
    await run(`${script}`, OFF);
    expect((await run(script)).summary).toMatchObject({ outcome: 'miss', published: true });
    expect((await run(script)).summary).toMatchObject({ outcome: 'hit-local', status: 'observed' });
  });

  test('in the sandbox too', async () => {
    expect((await run(COPY, OFF, '--sandbox')).summary).toMatchObject({
      published: true,
      status: 'unwatched',
    });
    expect(await outcome(run(COPY, OFF, '--sandbox'))).toBe('hit-local');
    expect(await outcome(run(COPY, '--sandbox'))).toBe('miss');
    expect((await run(COPY, '--sandbox')).summary).toMatchObject({
      outcome: 'hit-local',
      status: 'declared',
    });
  });

  test('a step whose "hermetic" is no longer "off" runs again, also if it was up to date', async () => {
    const declare = (more: object) =>
      shop.write(
        'assay.json',
        JSON.stringify({ steps: { a: { command: COPY, inputs: ['in.txt'], outputs: ['out'], ...more } } }),
      );
    const outcomeOf = async () => {
      const { summary } = await runSteps(shop, ['a']);
      return summary.misses === 1 ? 'miss' : summary.hitsLocal === 1 ? 'hit-local' : undefined;
    };
    declare({ hermetic: 'off' });
    expect(await outcomeOf()).toBe('miss');
    for (let time = 0; time < 3; time++) expect(await outcomeOf()).toBe('hit-local');
    declare({});
    expect(await outcomeOf()).toBe('miss');
    expect(await outcomeOf()).toBe('hit-local');
  });
});

describe('where no tracer works', () => {
  /** The bundle without the helper beside it, and a PATH without strace. */
  function untraceable(args: readonly string[]): ReturnType<typeof runProcess> {
    const bundle = join(shop.folder, 'copy', 'node');
    cpSync(dirname(FORMS.bundle[1]), bundle, { recursive: true });
    const bin = join(shop.folder, 'bin');
    rmSync(bin, { recursive: true, force: true });
    mkdirSync(bin);
    for (const name of ['sh', 'cat']) symlinkSync(`/bin/${name}`, join(bin, name));
    return runProcess([FORMS.bundle[0], join(bundle, 'assay.cjs'), ...args], {
      cwd: shop.workspace,
      env: { PATH: bin, ASSAY_STORE: shop.store },
    });
  }
  const one = (...flags: string[]) =>
    untraceable(['run', ...flags, '--input', 'in.txt', '--output', 'out', '--', 'sh', '-c', COPY]);
  const NOTHING_KEPT = /nothing is kept/g;

  test('a run keeps nothing, and one line says what to set', async () => {
    const ran = await one();
    expect(ran.code).toBe(0);
    expect(ran.stderr).toContain('the command runs unwatched: assay-trace');
    expect(ran.stderr.match(NOTHING_KEPT)).toHaveLength(1);
    expect(ran.stderr).toContain('--keep-unproven=local');
    expect(ran.stderr).toContain('not published');
    expect((await one()).stderr).toContain('miss');
  });

  test('--keep-unproven=local keeps and takes the result', async () => {
    const kept = await one('--keep-unproven=local');
    expect(kept.stderr).toContain('published (local), unwatched');
    expect(kept.stderr).not.toMatch(NOTHING_KEPT);
    expect((await one('--keep-unproven=local')).stderr).toContain('hit (local, unwatched)');
    expect((await one()).stderr).toContain('miss');
  });

  test('a graph says it once', async () => {
    const step = (name: string) => ({ command: `cat in.txt > ${name}`, inputs: ['in.txt'], outputs: [name] });
    const steps = { a: step('a.out'), b: step('b.out'), c: step('c.out') };
    shop.write('assay.json', JSON.stringify({ steps }));
    const ran = await untraceable(['run', 'a', 'b', 'c']);
    expect(ran.code).toBe(0);
    // The summary at the end repeats it, as it repeats every warning of the run.
    expect(ran.stderr.match(/^assay: the command runs unwatched: .* nothing is kept/gm)).toHaveLength(1);
    shop.write('assay.json', JSON.stringify({ defaults: { keepUnproven: 'local' }, steps }));
    const kept = await untraceable(['run', 'a', 'b', 'c']);
    expect(kept.stderr.match(/; kept, unwatched/g)).toHaveLength(3);
    expect((await untraceable(['run', 'a', 'b', 'c'])).stderr).toContain('hit (local, unwatched)');
  });

  test('doctor says it too', async () => {
    const ran = await untraceable(['doctor']);
    expect(ran.stdout).toContain('nothing is kept');
    expect(ran.stdout).toContain('keep-unproven=local');
  });
});
