// bin/assay finds its sources and its Node however it is reached, and says in words what is missing.
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { VERSION } from '../../core/version.ts';
import { nativeTracer } from '../hermeticity/rig.ts';
import { runProcess } from '../rig/assay.ts';

const LAUNCHER = join(import.meta.dirname, '../../bin/assay');
const ENVIRONMENT = { PATH: '/usr/bin:/bin' };

let folder = '';
/* Else the first call of the launcher compiles it, and says so. */
beforeAll(() => void nativeTracer());
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'assay launcher ')));
});
afterEach(() => rmSync(folder, { recursive: true }));

const call = (command: readonly string[], env: Record<string, string> = ENVIRONMENT, cwd = folder) =>
  runProcess(command, { cwd, env });

describe('the launcher runs', () => {
  const version = { code: 0, stdout: `assay ${VERSION}\n`, stderr: '' };

  test('from another folder', async () => {
    expect(await call([LAUNCHER, '--version'])).toMatchObject(version);
  });

  test('through a symbolic link, with a space in its path', async () => {
    const link = join(folder, 'as say');
    symlinkSync(LAUNCHER, link);
    expect(await call([link, '--version'])).toMatchObject(version);
    expect(await call(['./as say', '--version'])).toMatchObject(version);
  });

  test('through a relative link to a link', async () => {
    symlinkSync(LAUNCHER, join(folder, 'first'));
    mkdirSync(join(folder, 'sub'));
    symlinkSync('../first', join(folder, 'sub', 'second'));
    expect(await call(['sub/second', '--version'])).toMatchObject(version);
  });

  test('found on PATH', async () => {
    symlinkSync(LAUNCHER, join(folder, 'assay'));
    const env = { PATH: `${folder}:/usr/bin:/bin` };
    expect(await call(['/bin/sh', '-c', 'assay --version'], env)).toMatchObject(version);
  });

  test('handed to a shell from its own folder', async () => {
    const bin = join(LAUNCHER, '..');
    expect(await call(['/bin/sh', 'assay', '--version'], ENVIRONMENT, bin)).toMatchObject(version);
  });

  test('with every argument as it was given, and gives the exit code back', async () => {
    const { code, stderr } = await call([LAUNCHER, 'no such\ncommand', '*']);
    expect(code).toBe(2);
    expect(stderr).toContain('there is no command "no such\\ncommand"');
  });

  test('of a command of two words: the first one alone lists them', async () => {
    const { code, stderr } = await call([LAUNCHER, 'store']);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('`assay store migrate` or `assay store verify`'),
    ]);
    expect((await call([LAUNCHER, 'store', '--help'])).stdout).toMatch(/\n {2}store migrate +copy/);
    expect((await call([LAUNCHER, 'store', 'verify', '--help'])).stdout).toContain(
      'Usage: assay store verify',
    );
  });
});

describe('a checkout without a tracer', () => {
  const STEP = ['run', '--output', 'out', '--', '/bin/sh', '-c', 'cat /etc/hostname > out'];
  /** Stands in for a compiler: a real one takes seconds. */
  const compiler = () => ({ ...ENVIRONMENT, CC: join(folder, 'compiler') });

  beforeEach(() => {
    const root = join(LAUNCHER, '../..');
    for (const name of ['bin', 'client', 'core', 'hermeticity', 'server', 'store', 'system'])
      cpSync(join(root, name), join(folder, name), { recursive: true });
    for (const name of ['node_modules', 'package.json']) symlinkSync(join(root, name), join(folder, name));
    const script = `#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\ncp '${root}/dist/assay-trace' "$2"\n`;
    writeFileSync(join(folder, 'compiler'), script, { mode: 0o755 });
  });

  test('compiles it at the first call, and again when a source is newer', async () => {
    const compiling = 'assay: compiling the tracer\n';
    expect(await call(['bin/assay', '--version'], compiler())).toMatchObject({ code: 0, stderr: compiling });
    expect(await call(['bin/assay', '--version'], compiler())).toMatchObject({ code: 0, stderr: '' });
    const nextYear = new Date(Date.now() + 365 * 24 * 3_600_000);
    utimesSync(join(folder, 'hermeticity/native/main.c'), nextYear, nextYear);
    expect(await call(['bin/assay', '--version'], compiler())).toMatchObject({ code: 0, stderr: compiling });
  });

  test('and without a compiler runs commands unwatched, keeps nothing, and says so', async () => {
    const ran = await call(['bin/assay', ...STEP], {
      ...ENVIRONMENT,
      CC: 'no-such-compiler',
      ASSAY_STORE: join(folder, 'kept'),
    });
    expect(ran).toMatchObject({ code: 0 });
    expect(ran.stderr).toMatch(/^assay: the command runs unwatched: .*nothing is kept/);
    expect(ran.stderr).toContain('not published');
  });

  test('that does not compile says what to run', async () => {
    const { code, stderr } = await call(['bin/assay', '--version'], { ...ENVIRONMENT, CC: 'false' });
    expect(code).toBe(0);
    expect(stderr).toContain('the tracer could not be compiled; hermeticity/native/build.sh says why\n');
  });
});

describe('the launcher refuses with 125', () => {
  beforeEach(() => {
    mkdirSync(join(folder, 'bin'));
    copyFileSync(LAUNCHER, join(folder, 'bin', 'assay'));
  });

  test('where npm ci was not run, and says where to run it', async () => {
    const { code, stderr } = await call(['bin/assay', '--version']);
    expect({ code, stderr }).toEqual({
      code: 125,
      stderr: `assay: the packages are not installed: run \`npm ci\` in ${folder}\n`,
    });
  });

  test('where npm installed no Node, and says for which machine', async () => {
    cpSync(
      join(import.meta.dirname, '../../node_modules/picomatch'),
      join(folder, 'node_modules/picomatch'),
      {
        recursive: true,
      },
    );
    const { code, stderr } = await call(['bin/assay', '--version']);
    expect(code).toBe(125);
    expect(stderr).toMatch(/^assay: npm installed no Node for Linux \S+: Assay runs on Linux, arm64 or x64/);
  });

  test('where the Node that is there can not be executed', async () => {
    mkdirSync(join(folder, 'node_modules/node-linux-other/bin'), { recursive: true });
    writeFileSync(join(folder, 'node_modules/node-linux-other/bin/node'), '');
    expect((await call(['bin/assay', '--version'])).code).toBe(125);
  });
});
