// `assay init` writes a configuration from observed runs: it runs, it hits, and uncertainties are reported.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { parseDocument } from '../../../core/config/document.ts';
import { baseEnvironment, DEFAULT_FORM, FORMS, Workshop } from '../../../test/rig/assay.ts';
import { runSteps } from '../../../test/rig/graph.ts';

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
  shop.write('src/a.txt', 'hi\n');
});
afterEach(() => shop.remove());

const written = () => readFileSync(join(shop.workspace, 'assay.json'), 'utf8');

const configured = () => {
  const withoutRemarks = written().replaceAll(/^ *\/\/.*\n/gm, '');
  return JSON.parse(withoutRemarks).steps;
};

describe('init from scripts', () => {
  beforeEach(() => {
    shop.write(
      'package.json',
      JSON.stringify({
        scripts: {
          build: 'mkdir -p dist && tr a-z A-Z < src/a.txt > dist/a.txt',
          test: 'grep -q HI dist/a.txt',
          dev: 'sleep 1000',
        },
      }),
    );
  });

  test('writes the observed inputs, outputs and order; then every step hits', async () => {
    const { code, stderr } = await shop.assay(['init']);
    expect(code, stderr).toBe(0);
    expect(stderr).toContain('wrote assay.json with build, test');
    const { steps } = JSON.parse(written());
    expect(steps).toMatchObject({
      build: { inputs: ['src/**'], outputs: ['dist'] },
      test: { inputs: [], dependsOn: ['build'] },
    });
    expect(steps.dev).toBeUndefined();
    rmSync(join(shop.workspace, 'dist'), { recursive: true });
    expect((await runSteps(shop, ['test'])).outcomes).toEqual({ build: 'miss', test: 'miss' });
    expect((await runSteps(shop, ['test'])).outcomes).toEqual({ build: 'hit-local', test: 'hit-local' });
  });

  test('does not invent a missing script', async () => {
    expect(await shop.assay(['init', 'biuld'])).toMatchObject({ code: 2 });
    expect(existsSync(join(shop.workspace, 'assay.json'))).toBe(false);
  });
});

describe('init in a workspace of packages', () => {
  beforeEach(() => {
    const manifest = (folder: string, content: object) =>
      shop.write(`${folder}package.json`, JSON.stringify(content));
    const scripts = { build: 'npm run build --workspaces', format: 'true' };
    manifest('', { workspaces: ['packages/*'], scripts });
    manifest('packages/app/', {
      name: 'app',
      dependencies: { lib: '1.0.0' },
      scripts: {
        build: 'cat src/main ../lib/dist/* ../../shared.txt > app.out',
        test: 'grep -q lib app.out',
      },
    });
    manifest('packages/lib/', {
      name: 'lib',
      scripts: { build: 'mkdir -p dist && cp src/text dist/text' },
    });
    shop.write('packages/app/src/main', 'main\n');
    shop.write('packages/lib/src/text', 'lib\n');
    shop.write('shared.txt', 'shared\n');
  });

  const read = (folder: string) =>
    JSON.parse(readFileSync(join(shop.workspace, folder, 'assay.json'), 'utf8'));
  const stepsIn = (folder: string) => read(folder).steps;

  test('writes a file per package, and runs and declares dependencies first', async () => {
    const { code, stderr } = await shop.assay(['init']);
    expect(code, stderr).toBe(0);
    expect(read('')).toEqual({
      packageSteps: {
        build: { dependsOn: ['^build'], cache: false },
        test: { dependsOn: ['build'] },
      },
      steps: {},
    });
    expect(stepsIn('packages/lib')).toEqual({
      build: { inputs: ['src/**'], outputs: ['dist'], cache: true },
    });
    expect(stepsIn('packages/app')).toEqual({
      build: { inputs: ['src/**', '//shared.txt'], outputs: ['app.out'], cache: true },
      test: { inputs: [] },
    });
    const all = (outcome: string) => ({ 'app#build': outcome, 'app#test': outcome, 'lib#build': outcome });
    expect((await runSteps(shop, ['build', 'test'])).outcomes).toEqual(all('miss'));
    expect((await runSteps(shop, ['build', 'test'])).outcomes).toEqual(all('hit-local'));
  });

  test('covers a package that is added later, and the first dependency of a package without any', async () => {
    const lib = { name: 'lib', scripts: { build: 'mkdir -p dist && cp src/text dist/text' } };
    shop.write('packages/app/package.json', JSON.stringify({ ...lib, name: 'app' }));
    shop.write('packages/app/src/text', 'app\n');
    expect((await shop.assay(['init'])).code).toBe(0);
    expect(read('').packageSteps).toEqual({ build: { dependsOn: ['^build'], outputs: ['dist'] } });
    const scripts = { build: 'mkdir -p dist && cat ../app/dist/text > dist/new', test: 'cat dist/new' };
    shop.write(
      'packages/new/package.json',
      JSON.stringify({ name: 'new', scripts, dependencies: { app: '1' } }),
    );
    shop.write(
      'packages/app/package.json',
      JSON.stringify({ ...lib, name: 'app', dependencies: { lib: '1' } }),
    );
    const { ends, summary } = await runSteps(shop, ['build']);
    expect(Object.keys(ends)).toEqual(['lib#build', 'app#build', 'new#build']);
    expect(summary.exitCode).toBe(0);
    expect(ends['new#build']).toMatchObject({ status: 'declared', published: true });
  });

  test('keeps the file that a package has, and adds what failed at first', async () => {
    const own = '{\n  // Mine.\n  "defaults": { "env": ["CI"] }\n}\n';
    shop.write('packages/lib/assay.json', own);
    const manifest = readFileSync(join(shop.workspace, 'packages/app/package.json'), 'utf8');
    shop.write('packages/app/package.json', manifest.replace('grep -q lib app.out', 'exit 3'));
    expect((await shop.assay(['init'])).code).toBe(0);
    expect(readFileSync(join(shop.workspace, 'packages/lib/assay.json'), 'utf8')).toContain('// Mine.');
    const root = written();
    shop.write('packages/app/package.json', manifest);
    const { code, stderr } = await shop.assay(['init']);
    expect(code, stderr).toBe(0);
    expect(written()).toBe(root);
    expect(stderr).toContain('wrote packages/app/assay.json with test');
    const all = (outcome: string) => ({ 'app#build': outcome, 'app#test': outcome, 'lib#build': outcome });
    expect((await runSteps(shop, ['build', 'test'])).outcomes).toEqual(all('miss'));
    expect((await runSteps(shop, ['build', 'test'])).outcomes).toEqual(all('hit-local'));
  });
});

test('init from a Makefile', async () => {
  shop.write('Makefile', 'OUT := out\nall: $(OUT)/b\n$(OUT)/b: src/a.txt\n\tmkdir -p $(OUT)\n\tcp $< $@\n');
  expect((await shop.assay(['init'])).stderr).toContain('wrote assay.json with all');
  expect(JSON.parse(written()).steps.all).toMatchObject({
    command: ['make', 'all'],
    inputs: ['Makefile', 'src/**'],
    outputs: ['out'],
  });
});

test('runs the prerequisites of a target first, and does not count their outputs as the target’s own', async () => {
  shop.write('main.c', 'int main(void) { return 0; }\n');
  shop.write(
    'Makefile',
    'test: all\n\t./app\nall: app\napp: main.o\n\tcc -o app main.o\nmain.o: main.c\n\tcc -c main.c\n',
  );
  const { stderr, code } = await shop.assay(['init', 'test', 'all']);
  expect(code, stderr).toBe(0);
  expect(configured()).toMatchObject({
    all: { command: ['make', 'all'], outputs: ['app', 'main.o'] },
    test: { command: ['make', 'test'], dependsOn: ['all'] },
  });
  expect(configured().test.outputs).toBeUndefined();
  expect(JSON.parse(written().replaceAll(/^ *\/\/.*\n/gm, '')).$schema).toBeUndefined();
  expect((await shop.assay(['run', 'test'])).code).toBe(0);
});

test('init writes nothing that a run refuses: files below files, inputs that are outputs, shared outputs', async () => {
  shop.write('Makefile', 'all:\n\ttrue\n');
  shop.write('state', '1');
  const scripts = {
    build: 'cat src/a.txt; test -e Makefile/x || test -e .gitignore/x || mkdir -p out && echo 1 > out/a',
    // It succeeds also if it runs while build's output is away: the two have no order.
    lint: 'cat state; echo 2 >> state; echo 2 > out/a || true',
    test: 'cat hidden/x src/a.txt',
  };
  shop.write('.gitignore', 'hidden\n');
  shop.write('hidden/x', 'x');
  shop.write('package.json', JSON.stringify({ scripts }));
  const { stderr, code } = await shop.assay(['init', 'build', 'lint', 'test']);
  expect(code, stderr).toBe(0);
  expect(written()).not.toMatch(/Makefile\/|gitignore\//);
  const run = await shop.assay(['run', '--keep-going', 'build', 'lint', 'test']);
  expect(run.code, run.stderr).toBe(0);
});

describe('init without scripts or a Makefile', () => {
  /** A build tool on PATH that prints its arguments. */
  const withTool = async (name: string, ...args: string[]) => {
    const tools = shop.another('tools');
    shop.write(name, '#!/bin/sh\necho "$0 $@" | sed "s,.*/,,"\n', 0o755, tools);
    return shop.assay(args, { env: { PATH: `${tools}:${process.env.PATH}` } });
  };

  test.each<[string, string, string, Record<string, unknown>]>([
    ['go.mod', 'go', 'module x\n', { build: ['go', 'build', './...'], test: ['go', 'test', './...'] }],
    ['Cargo.toml', 'cargo', '[package]\n', { build: ['cargo', 'build', '--locked'] }],
    ['build.gradle.kts', 'gradle', '', { build: ['gradle', '--no-daemon', '--console=plain', 'build'] }],
    [
      'pyproject.toml',
      'python3',
      '[tool.pytest.ini_options]\n',
      { test: ['python3', '-m', 'pytest', '-p', 'no:cacheprovider'] },
    ],
  ])('%s: writes the usual steps', async (file, tool, content, commands) => {
    shop.write(file, content);
    const { stderr, code } = await withTool(tool, 'init');
    expect(code, stderr).toBe(0);
    const steps = configured();
    for (const [name, command] of Object.entries(commands)) expect(steps[name].command).toEqual(command);
  });

  test('a tool that is not installed: nothing is written, and one line says what to do', async () => {
    shop.write('go.mod', 'module x\n');
    // An empty PATH, because this machine may have Go.
    const PATH = shop.another('no-tools');
    const { stderr, code } = await shop.assay(['init', 'test'], { env: { PATH } });
    expect([code, shop.has('assay.json')]).toEqual([2, false]);
    expect(stderr).toContain('left out test: go was not found. Install it, then run it again');
  });
});

describe('init in a tree that is already built', () => {
  const begin = 'clean up, remove what init wrote, and run it again';

  test('an up-to-date Makefile: ignored outputs are not inputs, and the message has a hint', async () => {
    shop.write('.gitignore', 'out\n');
    shop.write('Makefile', 'all: out/b\nout/b: src/a.txt\n\tmkdir -p out\n\tcp $< $@\n');
    await shop.assay(['run', '--hermetic=off', '--output', 'out', '--', 'make', 'all']);
    const { stderr } = await shop.assay(['init']);
    expect(stderr).toContain(
      `not sure of all: it reads files that .gitignore hides, which are not declared: out.`,
    );
    expect(stderr).toContain(begin);
    expect(configured().all).toEqual({ command: ['make', 'all'], inputs: ['Makefile', 'src/**'] });
    expect((await shop.assay(['run', 'all'])).code).toBe(0);
  });

  test('a script that skips its work: the message says that it wrote no output', async () => {
    shop.write('dist/a.txt', 'HI\n');
    shop.write('package.json', JSON.stringify({ scripts: { build: 'test -f dist/a.txt' } }));
    expect((await shop.assay(['init'])).stderr).toContain(
      `not sure of build: it wrote no output. If the outputs`,
    );
  });

  test('an ignored file that another step just made is a dependency, not an input', async () => {
    shop.write('.gitignore', 'dist\n');
    const scripts = { build: 'mkdir -p dist && cp src/a.txt dist/a.txt', test: 'cat dist/a.txt' };
    shop.write('package.json', JSON.stringify({ scripts }));
    expect((await shop.assay(['init'])).stderr).not.toContain('.gitignore hides');
    expect(configured().test).toEqual({ inputs: [], dependsOn: ['build'] });
  });
});

test('init declares no absent folder as an input, since a run would find no files in it', async () => {
  shop.write('package.json', JSON.stringify({ scripts: { test: 'cat src/a.txt; test -f gone/x || true' } }));
  await shop.assay(['init']);
  expect(configured().test).toEqual({ inputs: ['src/**'] });
  expect((await shop.assay(['run', 'test'])).code).toBe(0);
});

test('init reports that it cannot see variables, and names those in the files that were read', async () => {
  shop.write('src/x.js', 'process.env.MODE; process.env["API_URL"]; process.env.HOME');
  shop.write('package.json', JSON.stringify({ scripts: { test: 'N=1; cat src/x.js; echo $CI $N' } }));
  const { stderr } = await shop.assay(['init']);
  expect(stderr).toContain('not sure of variables: a tracer cannot see which ones a command uses');
  expect(stderr).toMatch(/not sure of test: it may use these variables.*: API_URL, CI, MODE\n/);
});

test('after init of packages that import each other, an audit finds nothing', async () => {
  const build = 'mkdir -p dist && cp src/index.js dist/';
  const test = 'node --input-type=module -e "await import(\'./dist/index.js\')"';
  const lint = 'grep -c name src/index.js';
  shop.write('.gitignore', 'node_modules\ndist\n');
  shop.write('package.json', JSON.stringify({ workspaces: ['packages/*'] }));
  const add = (name: string, dependencies: Record<string, string>, source: string) => {
    const manifest = { name: `@x/${name}`, type: 'module', exports: './dist/index.js', dependencies };
    const scripts = { build, test, lint };
    shop.write(`packages/${name}/package.json`, JSON.stringify({ ...manifest, scripts }));
    shop.write(`packages/${name}/src/index.js`, `${source}export const name = '${name}';\n`);
    shop.link(`node_modules/@x/${name}`, `../../packages/${name}`);
  };
  add('util', {}, '');
  add('ui', { '@x/util': '1' }, 'import "@x/util";\n');
  add('app', { '@x/ui': '1', '@x/util': '1' }, 'import "@x/ui"; import "@x/util";\n');
  expect((await shop.assay(['init'])).code).toBe(0);
  const { code, stdout } = await shop.assay(['audit', '--all']);
  expect([code, stdout]).toEqual([0, expect.stringContaining('9 of 9 steps use nothing undeclared')]);
});

test('init writes each uncertainty as a comment beside the step, and prints it', async () => {
  shop.write('package.json', JSON.stringify({ scripts: { build: 'cat src/a.txt' } }));
  const { stderr } = await shop.assay(['init']);
  expect(stderr).toContain('not sure of build: it wrote no output');
  expect(written()).toContain('// Not sure: it wrote no output');
  expect(() => parseDocument({ file: 'assay.json', text: written() })).not.toThrow();
});

describe('init of scripts that npm runs with others', () => {
  const scripts = (all: Record<string, string>) =>
    shop.write('package.json', JSON.stringify({ scripts: all }));

  test('pre and post scripts become steps, and edges', async () => {
    scripts({
      prebuild: 'rimraf dist',
      build: 'mkdir -p dist && cp src/a.txt dist/a.txt',
      pretest: 'npm run build && npm run check:types',
      'check:types': 'grep -q hi src/a.txt',
      test: 'grep -q hi src/a.txt',
      posttest: 'grep -c hi dist/a.txt > count.txt',
    });
    const { code, stderr } = await shop.assay(['init', 'test']);
    expect(code, stderr).toBe(0);
    expect(configured()).toEqual({
      build: { inputs: ['src/**'], outputs: ['dist'] },
      'check:types': { inputs: ['src/**'], dependsOn: ['build'] },
      pretest: { command: 'true', inputs: [], dependsOn: ['build', 'check:types'] },
      test: { inputs: ['src/**'], dependsOn: ['pretest'] },
      posttest: { inputs: [], outputs: ['count.txt'], dependsOn: ['test', 'build'] },
    });
    rmSync(join(shop.workspace, 'dist'), { recursive: true });
    const ran = await runSteps(shop, ['posttest']);
    expect(Object.keys(ran.outcomes)).toEqual(['build', 'check:types', 'pretest', 'test', 'posttest']);
    expect(ran.stderr).not.toContain('does not run');
  });

  test('a chain of npm-run-all becomes the steps that it runs', async () => {
    scripts({
      build: 'run-s clean "gen:*" bundle',
      clean: 'rm -rf dist gen',
      'gen:a': 'mkdir -p gen && cp src/a.txt gen/a',
      'gen:b': 'mkdir -p other && cp src/a.txt other/b',
      bundle: 'mkdir -p dist && cat src/a.txt > dist/all',
      test: 'npm-run-all --print-label build --parallel check:*',
      'check:a': 'cat dist/all',
      'check:b': 'cat src/a.txt',
      lint: 'npm-run-all check:b -- --fix',
    });
    const { code, stderr } = await shop.assay(['init', 'test']);
    expect(code, stderr).toBe(0);
    expect(configured()).toEqual({
      'gen:a': { inputs: ['src/**'], outputs: ['gen'] },
      'gen:b': { inputs: ['src/**'], outputs: ['other'], dependsOn: ['gen:a'] },
      bundle: { inputs: ['src/**'], outputs: ['dist'], dependsOn: ['gen:b'] },
      build: { command: 'true', inputs: [], dependsOn: ['gen:a', 'gen:b', 'bundle'] },
      'check:a': { inputs: [], dependsOn: ['build', 'bundle'] },
      'check:b': { inputs: ['src/**'], dependsOn: ['build'] },
      test: { command: 'true', inputs: [], dependsOn: ['build', 'check:a', 'check:b'] },
    });
    expect((await shop.assay(['run', 'test'])).code).toBe(0);
  });

  test('what needs a step that failed is left out: a chain without it would succeed', async () => {
    scripts({ test: 'run-p check:a check:b', 'check:a': 'exit 3', 'check:b': 'cat src/a.txt' });
    const { code, stderr } = await shop.assay(['init']);
    expect([code, Object.keys(configured())], stderr).toEqual([0, ['check:b']]);
    expect(stderr).toContain('left out test: it needs check:a, which was left out');
  });
});

test('a step that fails in one package is declared for the others, not for all packages', async () => {
  shop.write('package.json', JSON.stringify({ workspaces: ['packages/*'] }));
  const add = (name: string, build: string) =>
    shop.write(`packages/${name}/package.json`, JSON.stringify({ name, scripts: { build, lint: 'true' } }));
  add('one', 'echo one > out');
  add('two', 'exit 3');
  expect((await shop.assay(['init'])).code).toBe(0);
  expect(configured()).toEqual({});
  expect(JSON.parse(written()).packageSteps).toBeUndefined();
  expect((await runSteps(shop, ['build', 'lint'])).outcomes).toEqual({
    'one#build': 'miss',
    'one#lint': 'miss',
    'two#lint': 'miss',
  });
});

test.each([
  ['vitest', ['CI=true']],
  ['npx vitest --coverage', ['CI=true']],
  ['vitest run', undefined],
  ['vitest --run', undefined],
  ['vitest bench', undefined],
])('%s: a test that waits for changes gets CI', async (command, env) => {
  const program = '#!/bin/sh\ncat src/a.txt\n';
  shop.write('node_modules/.bin/vitest', program, 0o755);
  shop.write('node_modules/.bin/npx', program, 0o755);
  shop.write('package.json', JSON.stringify({ scripts: { test: command } }));
  const { code, stderr } = await shop.assay(['init']);
  expect(code, stderr).toBe(0);
  expect(configured().test.env).toEqual(env);
});

test('init leaves out what fails, with its reason, and tells of missing programs once', async () => {
  const scripts = {
    build: 'cat src/a.txt > a.out',
    lint: 'nonesuch --lint',
    test: 'cat a.out; exit 3',
    typecheck: 'env nonesuch',
  };
  shop.write('package.json', JSON.stringify({ scripts }));
  const { code, stderr } = await shop.assay(['init']);
  expect([code, Object.keys(configured())], stderr).toEqual([0, ['build']]);
  expect(stderr).toContain('left out typecheck, lint: nonesuch was not found. No installed package has it');
  expect(stderr).toContain('left out test: it ended with 3');
  expect(stderr.match(/was not found/g)).toHaveLength(1);
});

test.each<[string, Record<string, unknown>, string]>([
  ['nothing is installed', { devDependencies: { other: '1' } }, 'Install your dependencies first'],
  ['its package is not installed', { dependencies: { nonesuch: '1' } }, 'Install your dependencies first'],
  [
    'no package declares it',
    {},
    'No installed package has it: add the package that has it to your dependencies',
  ],
])('init says what to do about a missing program: %s', async (name, manifest, remedy) => {
  shop.write('package.json', JSON.stringify({ scripts: { build: 'nonesuch --build' }, ...manifest }));
  if (name !== 'nothing is installed') shop.write('node_modules/.bin/other', '#!/bin/sh\n', 0o755);
  const { code, stderr } = await shop.assay(['init']);
  expect([code, shop.has('assay.json')]).toEqual([2, false]);
  expect(stderr).toContain(`left out build: nonesuch was not found. ${remedy}`);
});

test('a target that is only a folder is no step: another one owns what lies in it', async () => {
  const rules = ['all: build/a', 'build/a: src/a.txt | build', '\tcp src/a.txt build/a', 'build:'];
  shop.write('Makefile', [...rules, '\t@mkdir -p $@', 'test: build/a', '\tgrep -q . build/a', ''].join('\n'));
  const { code, stderr } = await shop.assay(['init']);
  expect(code, stderr).toBe(0);
  expect(configured()).toEqual({
    all: { command: ['make', 'all'], inputs: ['Makefile', 'src/**'], outputs: ['build'] },
    test: { command: ['make', 'test'], inputs: ['Makefile', 'src/**'], dependsOn: ['all'] },
  });
});

test('init neither declares nor doubts a virtual environment', async () => {
  shop.write('.gitignore', '.venv\n');
  shop.write('.venv/pyvenv.cfg', 'home = /usr/bin\n');
  shop.write('.venv/lib/tool.py', 'import os\nos.environ["OF_A_TOOL"]\n');
  shop.write('Makefile', 'test:\n\tcat .venv/lib/tool.py src/a.txt\n');
  const { code, stderr } = await shop.assay(['init']);
  expect(code, stderr).toBe(0);
  expect(stderr).not.toMatch(/gitignore hides|may use these variables/);
  expect(written()).not.toMatch(/\.venv|OF_A_TOOL/);
});

test.each(['SIGINT', 'SIGTERM'] as const)('%s ends init at once, and nothing is written', async (signal) => {
  const begun = join(shop.folder, 'begun');
  const scripts = { build: `echo > ${begun}; sleep 1000`, test: 'echo > later' };
  shop.write('package.json', JSON.stringify({ scripts }));
  const child = spawn(FORMS[DEFAULT_FORM][0], [...FORMS[DEFAULT_FORM].slice(1), 'init'], {
    cwd: shop.workspace,
    env: { ...baseEnvironment(), ASSAY_STORE: shop.store },
    stdio: 'ignore',
  });
  const ended = once(child, 'exit');
  await vi.waitUntil(() => existsSync(begun), { timeout: 90_000 });
  child.kill(signal);
  const [code] = await ended;
  expect([code, shop.has('assay.json'), shop.has('later')]).toEqual([130, false, false]);
});

describe('init beside a file that exists', () => {
  const BUILD = 'mkdir -p dist && tr a-z A-Z < src/a.txt > dist/a.txt';
  const scripts = (test: string) =>
    shop.write('package.json', JSON.stringify({ scripts: { build: BUILD, test } }));

  test('adds the step that failed before, and keeps what a person wrote', async () => {
    scripts('exit 3');
    shop.write('.gitignore', 'dist\n');
    await shop.assay(['init']);
    shop.write(
      'assay.json',
      written().replace('"build": {', '// Mine.\n    "build": {\n      "env": ["CI"],'),
    );
    scripts('grep -q HI dist/a.txt');
    const { code, stderr } = await shop.assay(['init']);
    expect(code, stderr).toBe(0);
    expect(stderr).toContain('wrote assay.json with test');
    expect(written()).toContain('// Mine.');
    expect(written()).toContain('    "test": {\n      "inputs": ["dist/**"]\n    }\n');
    expect(configured().build).toEqual({ env: ['CI'], inputs: ['src/**'], outputs: ['dist'] });
    rmSync(join(shop.workspace, 'dist'), { recursive: true });
    expect((await runSteps(shop, ['test'])).outcomes).toEqual({ build: 'miss', test: 'miss' });
    const before = written();
    expect(await shop.assay(['init'])).toMatchObject({ code: 2 });
    expect(written()).toBe(before);
  });

  test('writes a named step anew, with its remarks, and no other', async () => {
    scripts('cat src/b.txt');
    shop.write('src/b.txt', 'b');
    const faulty = '// Not sure: it ended with 127\n    "test": { "inputs": [] }';
    shop.write('assay.json', `{\n  "steps": {\n    "build": { "inputs": [] },\n    ${faulty}\n  }\n}\n`);
    const { code, stderr } = await shop.assay(['init', 'test']);
    expect(code, stderr).toBe(0);
    expect(configured()).toEqual({ build: { inputs: [] }, test: { inputs: ['src/**'] } });
    expect(written()).not.toContain('127');
  });

  test('a file that is damaged stays as it is', async () => {
    scripts('true');
    shop.write('assay.json', '{ "steps": ');
    expect(await shop.assay(['init', 'test'])).toMatchObject({ code: 2 });
    expect(written()).toBe('{ "steps": ');
  });
});
