// A virtual environment in each clone: results of its commands are hits in a second clone, at the same path and at
// another one, with an empty store. What Python would run differently is a miss.
import { readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RanWithSummary } from '../rig/assay.ts';
import { PythonClones, SITE } from './python-clones.ts';

let clones: PythonClones;

beforeAll(async () => {
  clones = await PythonClones.start();
});

afterAll(() => clones.end());

const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  'a module of the environment': ['.venv/bin/python', '-c', 'import sayer.main; sayer.main.main()'],
  'a command of a wheel': ['.venv/bin/say'],
  'a command of an editable installation': ['.venv/bin/acme'],
  'a command after activate': ['sh', '-c', '. .venv/bin/activate && say && acme'],
  'pytest with a plugin that calls git': ['.venv/bin/python', '-m', 'pytest', '-p', 'no:cacheprovider'],
  'nox in the environment of the clone': ['nox', '-s', 'tests'],
  'tox in the environment of the clone': ['tox'],
  mypy: ['.venv/bin/python', '-m', 'mypy', '--ignore-missing-imports', 'src'],
};

describe('is a hit in a second clone', () => {
  /** By machine and command. */
  const ran = new Map<string, RanWithSummary>();
  const PLACES = { a: 'at/home', b: 'at/home', c: 'a/deeper/place' };

  beforeAll(async () => {
    for (const [machine, path] of Object.entries(PLACES)) {
      const folder = clones.clone(path);
      clones.tox(folder);
      for (const [name, command] of Object.entries(COMMANDS))
        ran.set(
          `${machine} ${name}`,
          await clones.run(machine, folder, ['--env', `CASE=${name}`], ...command),
        );
    }
  });

  test.each(Object.keys(COMMANDS))('%s', (name) => {
    const [first, again, moved] = Object.keys(PLACES).map((machine) => ran.get(`${machine} ${name}`));
    expect(first?.summary, first?.stderr).toMatchObject({ outcome: 'miss', exitCode: 0, shared: true });
    expect(again?.summary.outcome, again?.summary.reason).toBe('hit-remote');
    expect(moved?.summary.outcome, moved?.summary.reason).toBe('hit-remote');
    expect(moved?.stdout).toBe(first?.stdout.replaceAll('at/home', 'a/deeper/place'));
  });
});

describe('what Python would run differently is a miss', () => {
  const SAY = ['.venv/bin/python', '-c', 'import sayer.main; sayer.main.main()'];
  const MODULE = `${SITE}/sayer/words.py`;
  const CACHE = `${SITE}/sayer/__pycache__/words.cpython-311.pyc`;
  let one: string;
  let two: string;

  beforeAll(() => {
    one = clones.clone('wrong/one');
    two = clones.clone('wrong/longer/two');
  });

  test('a source that was edited and has its old size and mtime', async () => {
    const module = join(one, MODULE);
    const before = readFileSync(module);
    const { mtime, ctimeMs } = statSync(module);
    do {
      writeFileSync(module, 'WORD = "two"\n');
      utimesSync(module, mtime, mtime);
    } while (statSync(module).ctimeMs <= Math.max(ctimeMs, statSync(join(one, CACHE)).ctimeMs));
    const stale = await clones.run('d', one, ['--env', 'CASE=edit'], ...SAY);
    expect(stale.stdout).toBe('one\n');

    /* The other clone has the same edit, and Python sees it. */
    const honest = join(two, MODULE);
    writeFileSync(honest, 'WORD = "two"\n');
    rmSync(join(two, CACHE));
    const other = await clones.run('e', two, ['--env', 'CASE=edit'], ...SAY);
    expect(other.summary.outcome).toBe('miss');
    expect(other.stdout).toBe('two\n');

    /* Nor does the first clone take what the other one made: there, Python still runs the old code. */
    const again = await clones.run('f', one, ['--env', 'CASE=edit'], ...SAY);
    expect(again.stdout).toBe('one\n');
    for (const clone of [one, two]) writeFileSync(join(clone, MODULE), before);
  });

  test.each([
    ['by another program', ['sh', '-c', `cat ${CACHE} | sha256sum > out`]],
    [
      'by Python as data',
      [
        '.venv/bin/python',
        '-c',
        `import hashlib; open("out", "w").write(hashlib.sha256(open("${CACHE}", "rb").read()).hexdigest())`,
      ],
    ],
    [
      'by Python after an import',
      [
        '.venv/bin/python',
        '-c',
        'import hashlib, sayer.words as w; open("out", "w").write(hashlib.sha256(open(w.__cached__, "rb").read()).hexdigest())',
      ],
    ],
    ['by a program after an import', ['sh', '-c', `.venv/bin/say && sha256sum < ${CACHE} > out`]],
  ])('the bytes of a compiled module, read %s', async (name, command) => {
    for (const clone of [one, two]) {
      rmSync(join(clone, CACHE), { force: true });
      clones.compile(clone, MODULE);
    }
    const [mtime] = [new Date(Date.now() - 3_600_000)];
    utimesSync(join(two, MODULE), mtime, mtime);
    clones.compile(two, MODULE);
    const flags = ['--env', `CASE=${name}`, '--output', 'out'];
    await clones.run('g', one, flags, ...command);
    const made = readFileSync(join(one, 'out'), 'utf8');
    const other = await clones.run('h', two, flags, ...command);
    expect(other.summary.outcome).toBe('miss');
    expect(readFileSync(join(two, 'out'), 'utf8')).not.toBe(made);
  });

  test('a compiled module that appears, and fits a source that it was not made from', async () => {
    const [module, compiled] = [join(one, MODULE), join(one, CACHE)];
    const before = readFileSync(module);
    rmSync(compiled);
    rmSync(join(two, CACHE), { force: true });
    const flags = ['--env', 'CASE=appears'];
    expect((await clones.run('m', one, flags, ...SAY)).stdout).toBe('one\n');

    /* An honest module is the same as none. */
    clones.compile(two, MODULE);
    expect((await clones.run('n', two, flags, ...SAY)).summary.outcome).toBe('hit-remote');

    const { mtime } = statSync(module);
    writeFileSync(module, 'WORD = "two"\n');
    utimesSync(module, mtime, mtime);
    clones.compile(one, MODULE);
    do {
      writeFileSync(module, before);
      utimesSync(module, mtime, mtime);
    } while (statSync(module).ctimeMs <= statSync(compiled).ctimeMs);
    const stale = await clones.run('m', one, flags, ...SAY);
    expect(stale.summary.outcome).toBe('miss');
    expect(stale.stdout).toBe('two\n');
    rmSync(compiled);
  });

  const DIGEST = 'import hashlib, sys; print(hashlib.sha256(open(sys.argv[1], "rb").read()).hexdigest())';
  test.each([
    ['an archive', ['sh', '-c', 'tar cf - --mtime=@0 .venv/pyvenv.cfg | sha256sum']],
    ['the digest of pyvenv.cfg', ['sha256sum', '.venv/pyvenv.cfg']],
    ['the same after Python read it', ['sh', '-c', '.venv/bin/say; sha256sum .venv/pyvenv.cfg']],
    ['the same by Python', ['.venv/bin/python', '-c', DIGEST, '.venv/pyvenv.cfg']],
    ['the same by another Python', ['/usr/bin/python3', '-S', '-c', DIGEST, '.venv/pyvenv.cfg']],
    ['the digest of a script', ['sh', '-c', '.venv/bin/say; sha256sum .venv/bin/say']],
    ['the digest of activate', ['sh', '-c', '. .venv/bin/activate; sha256sum < .venv/bin/activate']],
    ['the size of activate', ['sh', '-c', '. .venv/bin/activate; stat -c %s .venv/bin/activate']],
    ['the digest of a .pth file', ['.venv/bin/python', '-c', DIGEST, `${SITE}/_acme.pth`]],
    ['the digest of a script that is the program', ['.venv/bin/itself']],
  ])('a text of the installer that goes into the result: %s', async (name, command) => {
    for (const clone of [one, two]) {
      const head = `#!${clone}/.venv/bin/python\nimport sys\nsys.argv.append(sys.argv[0])\n`;
      writeFileSync(join(clone, '.venv/bin/itself'), `${head}${DIGEST}\n`, { mode: 0o755 });
    }
    const made = await clones.run('o', one, ['--env', `CASE=${name}`], ...command);
    expect(made.summary, made.stderr).toMatchObject({ outcome: 'miss', exitCode: 0, published: true });
    const other = await clones.run('p', two, ['--env', `CASE=${name}`], ...command);
    expect(other.summary.outcome).toBe('miss');
  });

  test('an editable installation that leads into another clone', async () => {
    const own = await clones.run('i', one, ['--env', 'CASE=pth'], '.venv/bin/acme');
    expect(own.summary).toMatchObject({ outcome: 'miss', exitCode: 0 });
    const path = join(two, SITE, '_acme.pth');
    const before = readFileSync(path, 'utf8');
    expect(before).toBe(`${two}/src\n`);
    writeFileSync(path, `${one}/src\n`);
    const astray = await clones.run('j', two, ['--env', 'CASE=pth'], '.venv/bin/acme');
    expect(astray.summary.outcome).toBe('miss');
    writeFileSync(path, before);
    const mended = await clones.run('k', two, ['--env', 'CASE=pth'], '.venv/bin/acme');
    expect(mended.summary.outcome, mended.summary.reason).toBe('hit-remote');
  });

  test('an environment that was moved with its clone still leads to the old place', async () => {
    const moved = `${two}-moved`;
    renameSync(two, moved);
    const ran = await clones.run('l', moved, ['--env', 'CASE=pth'], '.venv/bin/acme');
    expect(ran.summary?.outcome ?? 'not found').not.toBe('hit-remote');
    renameSync(moved, two);
  });
});
