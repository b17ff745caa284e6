// Programs that do not work under a tracer: the command runs once more without it, and the message says why.
import { chmodSync, copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Workshop } from '../../rig/assay.ts';
import { makeThirtyTwoBit } from '../../rig/thirty-two-bit.ts';
import { asRoot } from '../../rig/users.ts';

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
  shop.write('in.txt', 'input\n');
});
afterEach(() => shop.remove());

const run = (script: string, ...flags: string[]) =>
  shop.run([...flags, '--input', 'in.txt', '--output', 'out', '--', 'sh', '-c', script]);
const out = () => readFileSync(join(shop.workspace, 'out'), 'utf8');

describe('a command that traces', () => {
  const STRACE = "strace -f -o /dev/null sh -c 'cat in.txt > out'";

  test('runs again if it failed', async () => {
    const ran = await run(STRACE);
    expect(ran).toMatchObject({ code: 0, summary: { published: false } });
    expect(ran.stderr).toContain(
      'it failed under the tracer, so it runs once more (a process tried to trace another one)',
    );
    expect(out()).toBe('input\n');
    expect((await run(STRACE)).summary.outcome).toBe('miss');
  });

  test('runs again if it made no output, though it succeeded', async () => {
    const ran = await run(`${STRACE}; true`);
    expect(ran).toMatchObject({ code: 0, summary: { published: false } });
    expect(ran.stderr).toContain('it did not make out under the tracer, so it runs once more');
    expect(out()).toBe('input\n');
  });

  test('runs again if it left an earlier output in place of its own', async () => {
    shop.write('out', 'earlier\n');
    expect(await run(`${STRACE}; true`)).toMatchObject({ code: 0, summary: { published: false } });
    expect(out()).toBe('input\n');
  });

  test('does not run again if it made its output', async () => {
    const ran = await run(`${STRACE}; cat in.txt > out; echo ran >> count`);
    expect(ran.code).toBe(0);
    expect(ran.stderr).not.toContain('once more');
    expect(readFileSync(join(shop.workspace, 'count'), 'utf8')).toBe('ran\n');
  });

  test('runs again in the sandbox, and still sees nothing undeclared', async () => {
    shop.write('secret.txt', 'secret\n');
    const ran = await run("strace -f -o /dev/null sh -c 'cat in.txt > out; ls'", '--sandbox');
    expect(ran).toMatchObject({ code: 0, summary: { published: false, status: 'unwatched' } });
    expect(ran.stderr).toContain('it failed under the tracer, so it runs once more');
    expect(`${ran.stdout}${ran.stderr}`).toContain('in.txt');
    expect(`${ran.stdout}${ran.stderr}`).not.toContain('secret.txt');
    expect(out()).toBe('input\n');
  });

  test('never runs unwatched with --hermetic=strict', async () => {
    const ran = await run(STRACE, '--hermetic=strict');
    expect(ran.code).not.toBe(0);
    expect(ran.stderr).not.toContain('once more');
  });
});

describe('32-bit code', () => {
  const count = () => readFileSync(join(shop.workspace, 'count'), 'utf8');
  const bit32 = (script: string) =>
    shop.run([
      '--input',
      'bit32',
      '--output',
      'out',
      '--',
      'sh',
      '-c',
      `./bit32; echo ran >> count; ${script}`,
    ]);

  test('in a command that fails makes it run again', async (context) => {
    if (!makeThirtyTwoBit(join(shop.workspace, 'bit32'))) return context.skip();
    const ran = await bit32('exit 7');
    expect(ran.code).toBe(7);
    expect(ran.stderr).toContain(
      'it failed under the tracer, so it runs once more (a process runs code of another architecture)',
    );
    expect(count()).toBe('ran\nran\n');
  });

  test('in a command that makes its output is told', async (context) => {
    if (!makeThirtyTwoBit(join(shop.workspace, 'bit32'))) return context.skip();
    const ran = await bit32('echo x > out');
    expect(ran.code).toBe(0);
    expect(ran.stderr).toContain('another architecture');
    expect(count()).toBe('ran\n');
  });
});

test('a command that makes no output and does nothing untraceable runs once', async () => {
  const ran = await run('echo ran >> count');
  expect(ran).toMatchObject({ code: 0, summary: { published: false } });
  expect(readFileSync(join(shop.workspace, 'count'), 'utf8')).toBe('ran\n');
});

describe('a set-user-ID program', () => {
  let secret: string;
  let reader: string;
  beforeEach(() => {
    for (const folder of [shop.folder, shop.workspace]) chmodSync(folder, 0o777);
    secret = shop.write('../secret', 'secret\n', 0o600);
    reader = join(shop.folder, 'reader');
    copyFileSync('/bin/cat', reader);
    asRoot('chown', '0:0', secret, reader);
    asRoot('chmod', '4755', reader);
  });
  const runAsNobody = (script: string, ...flags: string[]) =>
    shop.assayAsOrdinaryUser([
      'run',
      ...flags,
      '--input',
      'in.txt',
      '--output',
      'out',
      '--',
      'sh',
      '-c',
      script,
    ]);

  test('that fails without its rights runs again, with them', async () => {
    const ran = await runAsNobody(`${reader} ${secret} > out`);
    expect(ran.stderr).toContain(
      `it failed under the tracer, so it runs once more (${reader} lacked the rights of its file: set-user-ID)`,
    );
    expect(ran.code).toBe(0);
    expect(out()).toBe('secret\n');
    expect(ran.stderr).toContain('it ran ../reader, whose file gives it other rights');
    expect(ran.stderr).toContain('not published');
  });

  test('is not kept after a run with its rights, unless --keep-unproven asks for it', async () => {
    const script = `${reader} ${secret} > out`;
    expect((await runAsNobody(script)).stderr).toContain('not published');
    expect((await runAsNobody(script, '--keep-unproven=local')).stderr).toContain('published (local)');
    expect((await runAsNobody(script)).stderr).toContain('not published');
    expect((await runAsNobody(script, '--keep-unproven=local')).stderr).toContain('hit (local');
  });

  test('that makes something else without its rights is told, and its result is not kept', async () => {
    const script = `${reader} ${secret} > out || echo nothing > out`;
    const ran = await runAsNobody(script);
    expect(ran).toMatchObject({ code: 0 });
    expect(ran.stderr).toContain('setuid ../reader');
    expect(ran.stderr).not.toContain('once more');
    expect(ran.stderr).toContain('not published');
  });

  test('that its own user runs is like any other', async () => {
    asRoot('chown', String(process.getuid?.()), reader);
    asRoot('chmod', '4755', reader);
    const ran = await shop.run([
      '--input',
      'in.txt',
      '--output',
      'out',
      '--',
      'sh',
      '-c',
      `${reader} in.txt > out`,
    ]);
    expect(ran.summary.published).toBe(true);
    expect(ran.stderr).not.toContain('set-user-ID');
  });
});
