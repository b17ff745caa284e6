// Regression tests from hostile testing: the cache never deletes a user's file and never makes a build fail.
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CLIENT_FORM, FORMS, RUNTIME_FORMS, Workshop } from '../rig/assay.ts';
import { inNamespaces } from '../rig/users.ts';

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
});

afterEach(() => shop.remove());

const path = (name: string) => join(shop.workspace, name);
const read = (name: string) => readFileSync(path(name), 'utf8');
const sh = (script: string, ...flags: string[]) => shop.run([...flags, '--', 'sh', '-c', script]);

/** The last line of a shell script in a separate mount namespace; $RUN is `assay run` with a store. */
function inMountNamespace(script: string): { status: number | null; said: string } {
  const RUN = `${FORMS[CLIENT_FORM].join(' ')} run --store ${shop.store}`;
  const ran = spawnSync('unshare', ['-m', 'sh', '-c', script], {
    cwd: shop.workspace,
    env: { PATH: process.env.PATH, RUN },
    encoding: 'utf8',
    timeout: 60_000,
  });
  return { status: ran.status, said: ran.stdout + ran.stderr };
}

describe('files that the command did not make', () => {
  test('a file system mounted below an output is not removed with the output', () => {
    shop.write('precious/f', 'gold');
    const { status, said } = inMountNamespace(
      'mkdir -p dist/data && mount --bind precious dist/data && $RUN --output dist -- sh -c "mkdir -p dist; echo x > dist/a"',
    );
    expect(status, said).toBe(0);
    expect(said).toContain('could not be set aside');
    expect(read('precious/f')).toBe('gold');
  });

  test('an output that is a mount point, or lies on another file system, is made but not published', () => {
    const { status, said } = inMountNamespace(
      'mkdir dist m && mount -t tmpfs none dist && mount -t tmpfs none m && echo old > m/out && $RUN --output dist --output m/out -- sh -c "echo x > dist/a; echo x > m/out" && cat dist/a m/out',
    );
    expect(status, said).toBe(0);
    expect(said).toContain('x\nx\n');
  });

  test('if one output cannot be set aside, the others are put back', () => {
    shop.write('a', 'kept');
    const { status } = inMountNamespace(
      'mkdir b && mount -t tmpfs none b && $RUN --output a --output b -- sh -c "exit 3"',
    );
    expect(status).toBe(3);
    expect(read('a')).toBe('kept');
  });

  test('a run in another container does not take this run’s staging folder for abandoned', async () => {
    shop.write('out', 'earlier');
    const first = shop.assayIn(inNamespaces('--pid', '--fork', '--mount-proc'), [
      'run',
      '--output',
      'out',
      '--',
      'sh',
      '-c',
      'echo > started; sleep 1.5; exit 7',
    ]);
    while (!shop.has('started')) await new Promise((resolve) => setTimeout(resolve, 10));
    const second = await shop.assayIn(inNamespaces('--pid', '--fork', '--mount-proc'), [
      'run',
      '--output',
      'other',
      '--',
      'sh',
      '-c',
      'echo > other',
    ]);
    expect(second.code, second.stderr).toBe(0);
    expect((await first).code).toBe(7);
    expect(read('out')).toBe('earlier');
  });
});

describe('the run keeps the command’s own exit code', () => {
  test.each<[string, string, string[], number]>([
    ['it removes .assay and fails', 'rm -rf .assay; exit 7', ['--output', 'out'], 7],
    ['an output’s parent is a file', 'rm gen; mkdir gen; echo > gen/a', ['--output', 'gen/a'], 0],
    ['it works in its own output', 'echo x > a', ['--cwd', 'build', '--output', 'build'], 0],
    ['it consumes its input', 'mv in out', ['--input', 'in', '--output', 'out'], 0],
    ['an optional input lies below a file', 'true', ['--optional-input', 'gen/x'], 0],
    ['its standard error ends in the middle of a line', 'printf half >&2', [], 0],
  ])('when %s', async (_name, script, flags, code) => {
    shop.write('out', 'earlier');
    shop.write('in', 'x');
    shop.write('gen', 'a file');
    mkdirSync(path('build'));
    expect((await sh(script, ...flags)).code).toBe(code);
  });

  test('when .assay is a file', async () => {
    shop.write('.assay', 'mine');
    expect(await sh('echo x > out', '--output', 'out')).toMatchObject({ code: 0 });
    expect(read('.assay')).toBe('mine');
  });

  test('when TMPDIR does not exist', async () => {
    const ran = await shop.run(['--', 'sh', '-c', 'echo > "$TMPDIR/x"'], { env: { TMPDIR: '/nonexistent' } });
    expect(ran.code).toBe(0);
  });

  test('when an ordinary user’s output cannot be read', async () => {
    execFileSync('chmod', ['-R', 'a+rwX', shop.folder]);
    const ran = await shop.assayAsOrdinaryUser([
      'run',
      '--json',
      '--output',
      'd',
      '--',
      'sh',
      '-c',
      'mkdir d; echo > d/x; chmod 0 d',
    ]);
    expect(ran.code, ran.stderr).toBe(0);
    expect(ran.stderr).toContain('"published":false');
    chmodSync(path('d'), 0o755);
  });

  test('when another user’s run was killed in the same workspace', async () => {
    mkdirSync(path('.assay/0-1-0-0'), { recursive: true });
    writeFileSync(path('.assay/0-1-0-0/command'), '0-1-0');
    execFileSync('chmod', ['a+rwx', shop.folder, shop.workspace, path('.assay')]);
    const ran = await shop.assayAsOrdinaryUser(['run', '--output', 'out', '--', 'sh', '-c', 'echo > out']);
    expect(ran.code, ran.stderr).toBe(0);
  });

  test('when many short steps run at once in one workspace', async () => {
    const step = (name: string) => sh(`echo ${name} > ${name}`, '--output', name);
    const names = Array.from({ length: 24 }, (_, index) => `o${index}`);
    const ran = await Promise.all(names.map(step));
    expect(ran.map(({ code }) => code)).toEqual(names.map(() => 0));
    expect(names.map(read)).toEqual(names.map((name) => `${name}\n`));
  });

  test('when the index file is truncated, at every second page', async () => {
    for (let count = 0; count < 6; count++) await sh(`echo ${count} > out`, '--output', 'out');
    cpSync(shop.store, join(shop.folder, 'good'), { recursive: true });
    const index = join(shop.store, 'v5', 'index', 'data.mdb');
    for (let pages = Math.floor(statSync(index).size / 4096) - 1; pages >= 0; pages -= 2) {
      rmSync(shop.store, { recursive: true });
      cpSync(join(shop.folder, 'good'), shop.store, { recursive: true });
      rmSync(join(shop.store, 'client'), { recursive: true });
      truncateSync(index, pages * 4096);
      const ran = await sh('echo again > out', '--output', 'out');
      expect(ran, `cut to ${pages} pages`).toMatchObject({ code: 0, signal: null });
    }
  });
});

describe.each(RUNTIME_FORMS)('%s', (form) => {
  test('a hit restores names that are not UTF-8', async () => {
    const script =
      'mkdir out; echo 1 > "out/$(printf "a\\377")"; echo 2 > "out/$(printf "%%bytes:41")"; echo 3 > "out/new\nline"';
    const build = () => shop.run(['--output', 'out', '--', 'sh', '-c', script], { form });
    expect((await build()).summary).toMatchObject({ outcome: 'miss', published: true });
    const made = readdirSync(path('out'), 'buffer')
      .map((name) => name.toString('hex'))
      .sort();
    rmSync(path('out'), { recursive: true });
    expect((await build()).summary.outcome).toBe('hit-local');
    expect(
      readdirSync(path('out'), 'buffer')
        .map((name) => name.toString('hex'))
        .sort(),
    ).toEqual(made);
    expect(existsSync(path('out/new\nline'))).toBe(true);
  });
});
