// `assay run --hermetic`: an undeclared access is observed or fails the run. A hit needs everything that
// the run read, such as its toolchain, to be unchanged.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FORMS, type RanWithSummary, runProcess, Workshop } from '../../rig/assay.ts';
import { ServerProcess } from '../../rig/server.ts';

let shop: Workshop;
let server: ServerProcess | undefined;

beforeEach(() => {
  shop = new Workshop();
  shop.write('in.txt', 'input\n');
  shop.write('secret.txt', 's1\n');
});

afterEach(async () => {
  await server?.stop();
  server = undefined;
  shop.remove();
});

const CLEAN = 'cat in.txt > out';
const SNEAKY = 'cat in.txt secret.txt > out';

function run(script: string, ...flags: string[]): Promise<RanWithSummary> {
  return shop.run([...flags, '--input', 'in.txt', '--output', 'out', '--', 'sh', '-c', script]);
}

const outcome = async (ran: Promise<RanWithSummary>) => (await ran).summary.outcome;

describe('strict', () => {
  test('a command without undeclared access runs once, and its clean result is a hit', async () => {
    const first = await run(CLEAN, '--hermetic=strict');
    expect(first).toMatchObject({
      code: 0,
      summary: { outcome: 'miss', published: true, status: 'declared' },
    });
    const second = await run(CLEAN, '--hermetic=strict');
    expect(second).toMatchObject({ code: 0, summary: { outcome: 'hit-local', status: 'declared' } });
    expect(await outcome(run(CLEAN, '--hermetic=strict'))).toBe('hit-local');
  });

  test('one with undeclared access fails, publishes nothing, and leaves its outputs', async () => {
    for (let time = 0; time < 2; time++) {
      const ran = await run(SNEAKY, '--hermetic=strict');
      expect(ran).toMatchObject({ code: 3, summary: { outcome: 'miss', published: false, exitCode: 3 } });
      expect(ran.summary.findings).toMatchObject([{ kind: 'read', path: 'secret.txt' }]);
      expect(ran.stderr).toContain('not declared: read secret.txt (--input secret.txt)');
      expect(shop.has('out')).toBe(true);
    }
  });

  test('refuses an observed and an unwatched result', async () => {
    await run(SNEAKY);
    expect(await run(SNEAKY, '--hermetic=strict')).toMatchObject({ code: 3, summary: { outcome: 'miss' } });
    await run(CLEAN, '--hermetic=off');
    expect(await outcome(run(CLEAN, '--hermetic=strict'))).toBe('miss');
    expect(await outcome(run(CLEAN, '--hermetic=strict'))).toBe('hit-local');
  });

  test('a command that fails keeps its own exit code', async () => {
    expect((await run('cat secret.txt; exit 7', '--hermetic=strict')).code).toBe(7);
  });
});

describe('warn, the default', () => {
  test('reports undeclared accesses, and the result is observed', async () => {
    const first = await run(SNEAKY);
    expect(first).toMatchObject({ code: 0, summary: { published: true, status: 'observed' } });
    expect(first.stderr).toContain('not declared: read secret.txt');
    expect((await run(SNEAKY)).summary).toMatchObject({ outcome: 'hit-local', status: 'observed' });
  });

  test('a hit needs undeclared files to be unchanged', async () => {
    await run(SNEAKY);
    shop.write('secret.txt', 's2\n');
    const after = await run(SNEAKY);
    expect(after.summary).toMatchObject({ outcome: 'miss', reason: 'secret.txt changed' });
    shop.write('secret.txt', 's1\n');
    expect(await outcome(run(SNEAKY))).toBe('hit-local');
    shop.write('secret.txt', 's2\n');
    expect(await outcome(run(SNEAKY))).toBe('hit-local');
  });

  test('a file that appears where one was missing is a miss', async () => {
    const script = 'test -f maybe; cat in.txt > out';
    await run(script);
    expect(await outcome(run(script))).toBe('hit-local');
    shop.write('maybe', '');
    expect(await outcome(run(script))).toBe('miss');
  });

  test('files that the command leaves do not prevent its own hit', async () => {
    const script = 'test -f state || echo x > state; cat in.txt > out';
    await run(script);
    expect(await outcome(run(script))).toBe('hit-local');
    shop.write('state', 'another');
    expect(await outcome(run(script))).toBe('miss');
  });
});

test('a command that fails under a tracer runs again without it', async () => {
  const source = shop.write('leak.c', 'int main(void) { return 0; }\n');
  execFileSync('gcc', ['-fsanitize=address', '-o', join(shop.workspace, 'leak'), source]);
  const flags = ['--input', 'leak', '--output', 'out', '--', 'sh', '-c', './leak && echo x > out'];
  const ran = await shop.run(flags);
  expect(ran).toMatchObject({ code: 0, summary: { published: false, status: 'unwatched' } });
  expect(ran.stderr).toContain('it failed under the tracer, so it runs once more');
});

test('off runs the command unwatched', async () => {
  expect((await run(SNEAKY, '--hermetic=off')).summary).toMatchObject({
    status: 'unwatched',
    published: true,
  });
});

describe('the toolchain', () => {
  const tools = () => join(shop.folder, 'tools');
  const withTool = (script: string, folder = tools(), cwd = shop.workspace) =>
    shop.run(['--input', 'in.txt', '--output', 'out', '--tool', 'mytool', '--', 'sh', '-c', script], {
      env: { PATH: `${join(folder, 'bin')}:${process.env.PATH}` },
      cwd,
    });

  function install(folder: string): void {
    mkdirSync(join(folder, 'bin'), { recursive: true });
    mkdirSync(join(folder, 'lib'));
    const script =
      '#!/bin/sh\nhere=$(dirname "$0")/../lib\ntest -f "$here/extra" && cat "$here/extra"\ncat "$here/data"\n';
    writeFileSync(join(folder, 'bin', 'mytool'), script, { mode: 0o755 });
    writeFileSync(join(folder, 'lib', 'data'), 'd1\n');
  }

  test('need not be declared: an upgrade is a miss', async () => {
    install(tools());
    expect((await withTool('mytool > out')).summary).toMatchObject({ outcome: 'miss', status: 'declared' });
    expect(await outcome(withTool('mytool > out'))).toBe('hit-local');
    writeFileSync(join(tools(), 'lib', 'data'), 'd2\n');
    const upgraded = await withTool('mytool > out');
    expect(upgraded.summary).toMatchObject({ outcome: 'miss', published: true });
    expect(upgraded.summary.reason).toContain('tools/lib/data changed');
    expect(await outcome(withTool('mytool > out'))).toBe('hit-local');
    writeFileSync(join(tools(), 'lib', 'data'), 'd1\n');
    expect(await outcome(withTool('mytool > out'))).toBe('hit-local');
  });

  test('a new file that it would have found is a miss', async () => {
    install(tools());
    await withTool('mytool > out');
    writeFileSync(join(tools(), 'lib', 'extra'), 'e\n');
    expect(await outcome(withTool('mytool > out'))).toBe('miss');
  });

  test('an up-to-date state notices a change, too', async () => {
    install(tools());
    await withTool('mytool > out');
    for (let time = 0; time < 3; time++) expect(await outcome(withTool('mytool > out'))).toBe('hit-local');
    writeFileSync(join(tools(), 'lib', 'data'), 'd2\n');
    expect(await outcome(withTool('mytool > out'))).toBe('miss');
  });

  test('may be installed in another folder, if it is the same', async () => {
    install(tools());
    await withTool('mytool > out');
    const elsewhere = join(shop.folder, 'elsewhere');
    install(elsewhere);
    expect(await outcome(withTool('mytool > out', elsewhere))).toBe('hit-local');
    writeFileSync(join(elsewhere, 'lib', 'data'), 'd2\n');
    expect(await outcome(withTool('mytool > out', elsewhere))).toBe('miss');
  });
});

describe('through a remote', () => {
  const other = (script: string, ...flags: string[]) =>
    run(
      script,
      '--remote',
      server?.url ?? '',
      '--store',
      join(shop.folder, `other-${Math.random()}`),
      ...flags,
    );

  beforeEach(async () => {
    server = await ServerProcess.start(join(shop.folder, 'served'));
  });

  test('a declared result is shared', async () => {
    expect((await other(CLEAN)).summary).toMatchObject({ outcome: 'miss', shared: true });
    expect((await other(CLEAN)).summary).toMatchObject({ outcome: 'hit-remote', status: 'declared' });
    expect((await other(CLEAN, '--hermetic=strict')).summary).toMatchObject({ outcome: 'hit-remote' });
  });

  test('an observed result is shared, and strict refuses it', async () => {
    expect((await other(SNEAKY)).summary).toMatchObject({ shared: true, status: 'observed' });
    expect((await other(SNEAKY)).summary).toMatchObject({ outcome: 'hit-remote', status: 'observed' });
    expect(await other(SNEAKY, '--hermetic=strict')).toMatchObject({ code: 3, summary: { outcome: 'miss' } });
  });

  test('for an observed result, what its run read must be unchanged', async () => {
    await other(SNEAKY);
    shop.write('secret.txt', 's2\n');
    expect((await other(SNEAKY)).summary.outcome).toBe('miss');
    expect(readFileSync(join(shop.workspace, 'out'), 'utf8')).toContain('s2');
  });

  test('a result whose command left an undeclared file stays on this machine', async () => {
    const leaves = 'cat in.txt > out; cat in.txt > left';
    const first = await other(leaves);
    expect(first.summary).toMatchObject({ published: true, shared: false, status: 'observed' });
    expect(first.stderr).toContain(
      'the result stays on this machine: its command left left, which no output names',
    );
    expect((await other(leaves)).summary.outcome).toBe('miss');
  });
});

describe('a command that uses what no fact can stand for', () => {
  let answer: Server;
  let flags: string[];
  const bash = '/bin/bash';
  const portOf = (one: Server) => (one.address() as AddressInfo).port;
  const connects = () => `${bash} -c 'exec 3<>/dev/tcp/127.0.0.1/${portOf(answer)}; cat <&3 > out'`;
  const other = (...more: string[]) =>
    run(connects(), ...flags, '--store', join(shop.folder, `other-${Math.random()}`), ...more);

  beforeEach(async () => {
    server = await ServerProcess.start(join(shop.folder, 'served'));
    flags = ['--tool', bash, '--remote', server.url];
    answer = createServer((socket) => socket.end('an answer\n'));
    await new Promise<void>((resolve) => answer.listen(0, '127.0.0.1', resolve));
  });
  afterEach(() => answer.close());

  test('runs each time, and says why and what allows to keep its result', async () => {
    for (let time = 0; time < 2; time++) {
      const { code, summary, stderr } = await run(connects(), ...flags);
      expect(code).toBe(0);
      expect(summary).toMatchObject({ outcome: 'miss', published: false, status: 'unproven' });
      const why = `it used the network: 127.0.0.1:${portOf(answer)}, so nothing can prove its result (--keep-unproven=local keeps it)`;
      expect(summary.notPublished).toBe(why);
      expect(stderr).not.toContain('127.0.0.1:0');
    }
  });

  test('is kept here with --keep-unproven=local, and only with it', async () => {
    const first = await run(connects(), ...flags, '--keep-unproven=local');
    expect(first.summary).toMatchObject({ published: true, shared: false, status: 'unproven' });
    expect(first.stderr).toContain('the result stays on this machine: it is unproven');
    const again = await run(connects(), ...flags, '--keep-unproven=local');
    expect(again.summary).toMatchObject({ outcome: 'hit-local', status: 'unproven' });
    expect(await outcome(run(connects(), ...flags))).toBe('miss');
    expect(await outcome(other('--keep-unproven=shared'))).toBe('miss');
  });

  test('is shared with --keep-unproven=shared, and only with it', async () => {
    expect((await other('--keep-unproven=shared')).summary).toMatchObject({ published: true, shared: true });
    const refused = await other('--keep-unproven=local');
    expect(refused.summary.outcome).toBe('miss');
    expect(refused.stderr).toContain('the remote’s result is unproven: it used the network');
    expect(await outcome(other('--keep-unproven=shared'))).toBe('hit-remote');
  });
});

describe('without a working tracer', () => {
  /** The bundle without the helper beside it, and a PATH without strace. */
  function untraceable(flags: readonly string[]): ReturnType<typeof runProcess> {
    const bundle = join(shop.folder, 'copy', 'node');
    cpSync(dirname(FORMS.bundle[1]), bundle, { recursive: true });
    const bin = join(shop.folder, 'bin');
    mkdirSync(bin);
    for (const name of ['sh', 'cat']) symlinkSync(`/bin/${name}`, join(bin, name));
    const command = ['run', ...flags, '--input', 'in.txt', '--output', 'out', '--', 'sh', '-c', CLEAN];
    return runProcess([FORMS.bundle[0], join(bundle, 'assay.cjs'), ...command], {
      cwd: shop.workspace,
      env: { PATH: bin, ASSAY_STORE: shop.store },
    });
  }

  test('the command runs, and the run reports it', async () => {
    const ran = await untraceable([]);
    expect(ran).toMatchObject({ code: 0 });
    expect(ran.stderr).toContain('the command runs unwatched: assay-trace');
    expect(ran.stderr).toContain('not published: nobody watched it: no tracer works here');
    expect(shop.has('out')).toBe(true);
  });

  test('strict refuses to run the command', async () => {
    const ran = await untraceable(['--hermetic=strict']);
    expect(ran).toMatchObject({ code: 125 });
    expect(ran.stderr).toContain('ASSAY_NO_TRACER');
    expect(shop.has('out')).toBe(false);
  });
});

test('an unknown mode is refused', async () => {
  const ran = await shop.assay(['run', '--hermetic=very', '--', 'true']);
  expect(ran).toMatchObject({ code: 125 });
  expect(ran.stderr).toContain('--hermetic takes off, warn, strict');
});

describe('files that a command leaves and no output names', () => {
  const LEAVES = 'cat in.txt > out; mkdir -p more; cat in.txt > more/left';
  const left = () => readFileSync(join(shop.workspace, 'more/left'), 'utf8');

  test('must be unchanged for a hit', async () => {
    expect(await outcome(run(LEAVES))).toBe('miss');
    const again = await run(LEAVES);
    expect(again.summary).toMatchObject({ outcome: 'hit-local', status: 'observed' });
    shop.write('more/left', 'edited');
    expect(await outcome(run(LEAVES))).toBe('miss');
    expect(left()).toBe('input\n');
    rmSync(join(shop.workspace, 'more'), { recursive: true });
    expect(await outcome(run(LEAVES))).toBe('miss');
    expect(left()).toBe('input\n');
    expect(await outcome(run(LEAVES))).toBe('hit-local');
  });

  test('are never taken for an earlier input', async () => {
    for (const [input, expected] of [
      ['one', 'miss'],
      ['two', 'miss'],
      ['one', 'miss'],
      ['one', 'hit-local'],
    ] as const) {
      shop.write('in.txt', input);
      expect(await outcome(run(LEAVES))).toBe(expected);
      expect(left()).toBe(input);
    }
  });

  test('prevent publishing if there are too many', async () => {
    const { summary } = await run(
      'cat in.txt > out; mkdir many; cd many; for i in $(seq 1001); do : > $i; done',
    );
    expect(summary).toMatchObject({ outcome: 'miss', published: false });
    expect(summary.notPublished).toBe('it left 1002 files and folders that no output names');
  });

  test('do not include the parent folder of an output', async () => {
    const flags = ['--input', 'in.txt', '--output', 'deep/out', '--', 'sh', '-c'];
    const make = () => shop.run([...flags, 'mkdir -p deep; cat in.txt > deep/out; : > stray']);
    expect(await outcome(make())).toBe('miss');
    rmSync(join(shop.workspace, 'deep'), { recursive: true });
    expect(await outcome(make())).toBe('hit-local');
  });

  test('include an empty folder', async () => {
    expect(await outcome(run('cat in.txt > out; mkdir -p empty'))).toBe('miss');
    rmSync(join(shop.workspace, 'empty'), { recursive: true });
    expect(await outcome(run('cat in.txt > out; mkdir -p empty'))).toBe('miss');
    expect(shop.has('empty')).toBe(true);
  });
});

describe('files that a command removes or changes and that are not its own', () => {
  test.each([
    ['read and removed', 'cat u > out; rm u'],
    ['renamed to its output', 'mv u out'],
    ['a renamed folder', 'mkdir -p f; mv f out'],
    ['probed and removed', 'if [ -e u ]; then echo yes > out; rm u; else echo no > out; fi'],
    ['only removed', 'rm -f u; cat in.txt > out'],
    ['read and written again', 'cat u > out; echo more > u'],
  ])('%s: their earlier content is not known, so there is no hit', async (_name, script) => {
    shop.write('u', 'first');
    shop.write('f/u', 'first');
    const first = await run(script);
    expect(first.summary).toMatchObject({ outcome: 'miss', exitCode: 0, published: false });
    shop.write('u', 'second');
    shop.write('f/u', 'second');
    expect(await outcome(run(script))).toBe('miss');
  });

  test('do not include its own temporary file', async () => {
    const script = 'cat in.txt > t; mv t out; : > other; rm other';
    expect(await outcome(run(script))).toBe('miss');
    expect(await outcome(run(script))).toBe('hit-local');
  });
});
