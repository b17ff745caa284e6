// Loading assay.json: in a single package, in npm, pnpm and yarn workspaces, and in plain folders.
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { requestOf } from '../../../client/config/request.ts';
import { loadWorkspace } from '../../../client/config/workspace.ts';
import { writeFiles } from '../../rig/folders.ts';
import { stepNamed } from './step-named.ts';

let root = '';
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'assay-config-')));
});
afterEach(() => rmSync(root, { recursive: true }));

const write = (files: Readonly<Record<string, unknown>>) => writeFiles(root, files);
const load = (folder = '') => loadWorkspace(join(root, folder));
const ids = async (folder = '') => [...(await load(folder)).steps.keys()];

describe('a single package', () => {
  test('may use every field of a step', async () => {
    write({
      'assay.json': `{
        // what people say about it
        "steps": {
          "build": {
            "command": ["node", "build.js"],
            "inputs": ["src/**", "!src/**/*.test.ts"],
            "optionalInputs": ["extra"],
            "outputs": ["dist/"],
            "env": ["NODE_ENV", "VITE_*", "MODE=fast"],
            "tools": ["node", "./tools/gen"],
            "cwd": "sub",
            "cacheFailures": true,
            "state": [".cache"],
            "checkpoint": { "folders": ["ckpt"], "every": "30s", "keep": 3 },
          },
        },
      }`,
    });
    const workspace = await load();
    const step = stepNamed(workspace, 'build');
    expect(step).toMatchObject({
      id: 'build',
      command: ['node', 'build.js'],
      workingDirectory: 'sub',
      outputs: ['dist'],
      state: ['.cache'],
      checkpoint: { folders: ['ckpt'], everyMs: 30_000, keep: 3 },
      cacheFailures: true,
      cache: true,
    });
    const request = requestOf(step, workspace, { VITE_B: '2', VITE_A: '1', OTHER: 'x', PATH: '' });
    expect(request).toMatchObject({
      workspace: root,
      inputs: [
        { pattern: 'src/**', optional: false },
        { pattern: '!src/**/*.test.ts', optional: false },
        { pattern: 'extra', optional: true },
        { pattern: '!ckpt', optional: true },
        { pattern: '!.cache', optional: true },
      ],
      variables: [
        { name: 'NODE_ENV' },
        { name: 'VITE_A' },
        { name: 'VITE_B' },
        { name: 'MODE', value: 'fast' },
      ],
      tools: ['node', './tools/gen'],
    });
  });

  test('a command line is for the shell, and the programs that it names are tools', async () => {
    write({
      'assay.json': { steps: { a: { command: 'X=1 ls -l | sort > out && cd x; nosuch "$(cat y)"' } } },
    });
    const workspace = await load();
    const step = stepNamed(workspace, 'a');
    expect(step.command).toEqual(['sh', '-c', 'X=1 ls -l | sort > out && cd x; nosuch "$(cat y)"']);
    expect(step.programs).toEqual(['ls', 'sort', 'nosuch']);
    expect(requestOf(step, workspace, { PATH: '/usr/bin:/bin' }).tools).toEqual(['ls', 'sort']);
  });

  test('a step without inputs takes every file in the package', async () => {
    write({ 'assay.json': { steps: { a: { command: 'true' } }, defaults: { inputs: ['//lock'] } } });
    expect(stepNamed(await load(), 'a').inputs).toEqual([
      { pattern: '**', optional: true },
      { pattern: 'lock', optional: false },
    ]);
  });

  test('an observed step without inputs takes only observed files', async () => {
    write({
      'assay.json': { steps: { a: { command: 'true', observed: true } }, defaults: { inputs: ['//lock'] } },
    });
    expect(stepNamed(await load(), 'a').inputs).toEqual([{ pattern: 'lock', optional: false }]);
  });

  test('a script that npm would run with pre and post scripts or variables causes a warning', async () => {
    const scripts = {
      prebuild: 'true',
      build: 'echo $npm_package_version',
      postbuild: 'true',
      test: 'true',
    };
    write({ 'assay.json': { steps: { build: {}, test: {} } }, 'package.json': { scripts } });
    const workspace = await load();
    expect(stepNamed(workspace, 'build').remarks).toEqual([
      expect.stringContaining('the script prebuild of package.json does not run'),
      expect.stringContaining('the script postbuild of package.json does not run'),
      expect.stringContaining('npm_package_version, which npm sets and Assay does not'),
    ]);
    expect(stepNamed(workspace, 'test').remarks).toEqual([]);
  });

  test('a step without a command runs the script of its name', async () => {
    write({ 'assay.json': { steps: { build: {} } }, 'package.json': { scripts: { build: 'tsc -p .' } } });
    expect(stepNamed(await load(), 'build').command).toEqual(['sh', '-c', 'tsc -p .']);
  });
});

const PACKAGES = {
  'packages/core/package.json': { name: '@x/core', scripts: { build: 'true' } },
  'packages/app/package.json': {
    name: '@x/app',
    scripts: { build: 'true' },
    dependencies: { '@x/mid': '*' },
  },
  'packages/mid/package.json': { name: '@x/mid', dependencies: { '@x/core': '*', elsewhere: '1' } },
  'assay.json': { packageSteps: { build: { outputs: ['dist'], dependsOn: ['^build'] } } },
};

describe('workspaces', () => {
  test.each<[string, Record<string, unknown>]>([
    ['npm', { 'package.json': { workspaces: ['packages/*'] } }],
    ['yarn', { 'package.json': { workspaces: { packages: ['packages/*'] } } }],
    [
      'pnpm',
      { 'package.json': {}, 'pnpm-workspace.yaml': "packages:\n  - 'packages/*'\n  - '!packages/none'\n" },
    ],
    ['assay', { 'assay.json': { ...PACKAGES['assay.json'], packages: ['packages/*'] } }],
  ])('of %s: dependencies reach through a package that has no such step', async (_, files) => {
    write({ ...PACKAGES, ...files });
    const workspace = await load();
    expect([...workspace.steps.keys()]).toEqual(['@x/app#build', '@x/core#build']);
    const step = stepNamed(workspace, '@x/app#build');
    expect(step.dependsOn).toEqual(['@x/core#build']);
    expect(step).toMatchObject({ workingDirectory: 'packages/app', outputs: ['packages/app/dist'] });
    expect(requestOf(step, workspace, {}).inputs).toEqual([
      { pattern: 'packages/app/**', optional: true },
      { pattern: 'packages/core/dist', optional: true },
    ]);
  });

  test('a package’s own file overrides field by field; paths may start at the root', async () => {
    write({
      ...PACKAGES,
      'package.json': { workspaces: ['packages/*'] },
      'packages/core/assay.json': {
        steps: { build: { inputs: ['src', '//tsconfig.json', '../shared/**'] }, lint: { command: ['true'] } },
      },
    });
    const workspace = await load('packages/core');
    expect(workspace.root).toBe(root);
    expect(stepNamed(workspace, '@x/core#build')).toMatchObject({
      outputs: ['packages/core/dist'],
      inputs: [
        { pattern: 'packages/core/src' },
        { pattern: 'tsconfig.json' },
        { pattern: 'packages/shared/**' },
      ],
      source: { file: 'packages/core/assay.json', path: ['steps', 'build'] },
    });
    expect(await ids()).toContain('@x/core#lint');
  });

  test('plain folders are named by their folder, and declare their dependencies', async () => {
    write({
      'assay.json': {
        packages: ['svc/*', 'lib'],
        packageSteps: { build: { command: ['make'], dependsOn: ['^build'] } },
      },
      'svc/a/assay.json': { dependencies: ['lib'] },
      'svc/b/main.c': '',
      'lib/lib.c': '',
    });
    const { steps } = await load();
    expect([...steps.keys()]).toEqual(['lib#build', 'svc/a#build', 'svc/b#build']);
    expect(steps.get('svc/a#build')?.dependsOn).toEqual(['lib#build']);
  });

  test('a folder with its own file that the one above does not include is a separate root', async () => {
    write({
      'assay.json': { packages: ['a'] },
      'a/x': '',
      'demo/assay.json': { steps: { one: { command: 'true' } } },
    });
    expect((await load('demo')).root).toBe(join(root, 'demo'));
  });

  test('outputs of all dependencies, direct or not, are inputs', async () => {
    write({
      'assay.json': {
        steps: {
          a: { command: 'true', inputs: [], outputs: ['a'] },
          b: { command: 'true', inputs: [], outputs: ['b'], dependsOn: ['a'] },
          c: { command: 'true', inputs: [], dependsOn: ['b'] },
        },
      },
    });
    const workspace = await load();
    const { inputs } = requestOf(stepNamed(workspace, 'c'), workspace, {});
    expect(inputs.map(({ pattern }) => pattern)).toEqual(['b', 'a']);
  });
});

describe('an error with its location', () => {
  test.each<[string, string, string]>([
    ['broken JSON', '{\n  "steps": [}', 'assay.json:2:13'],
    ['truncated JSON', '{ "steps": {}', 'assay.json:1:14: a "}" is missing here'],
    ['a name without a value', '{ "steps": }', 'assay.json:1:12: a value is missing here'],
    [
      'a misspelt field',
      '{"step": {}}',
      'assay.json:1:2: there is no field "step" here; did you mean steps?',
    ],
    [
      'a misspelt field of a step',
      '{"steps": {\n "a": {"command": "true",\n  "ouputs": []}}}',
      'assay.json:3:3: there is no field "ouputs" here; did you mean outputs?',
    ],
    [
      'several wrong fields, in one error',
      '{"step": 1,\n"defaults": {"hermetic": "x"},\n"steps": {"a": {"inputs": 3,\n"env": ["="], "cache": "no"}}}',
      [
        'assay.json:1:2: there is no field "step" here; did you mean steps?',
        'assay.json:2:26: one of off, warn, strict is expected here',
        'assay.json:3:27: a list of texts [ … ] is expected here',
        'assay.json:4:9: "" is not a variable name: it is empty; remove it, or write a name',
        'assay.json:4:24: true or false is expected here',
      ].join('\n'),
    ],
    ['a field twice', '{"steps": {}, "steps": {}}', 'assay.json:1:15: "steps" is given twice'],
    ['a wrong type', '{"steps": {"a": {"command": 3}}}', 'assay.json:1:29: a line in "quotes", or a list'],
    ['no command', '{"steps": {"a": {}}}', 'assay.json:1:12: a has no command'],
    [
      'an unknown dependency',
      '{"steps": {"build": {"command": "x"},\n"b": {"command": "x", "dependsOn": ["biuld"]}}}',
      'assay.json:2:37: there is no step "biuld"; did you mean build?',
    ],
    [
      'a path out of the workspace',
      '{"steps": {"a": {"command": "x", "outputs": ["../x"]}}}',
      'leaves the workspace',
    ],
    ['an absolute path', '{"steps": {"a": {"command": "x", "inputs": ["/etc"]}}}', 'is absolute'],
    ['an output glob', '{"steps": {"a": {"command": "x", "outputs": ["*.o"]}}}', 'not a glob'],
    [
      'nested outputs',
      '{"steps": {"a": {"command": "x", "outputs": ["d/e", "d"]}}}',
      'one lies inside the other',
    ],
    [
      'an invalid step name',
      '{"steps": {"a#b": {"command": "x"}}}',
      'assay.json:1:12: "a#b" can’t name a step',
    ],
    [
      'an invalid variable',
      '{"steps": {"a": {"command": "x",\n"env": ["A", "B,C"]}}}',
      'assay.json:2:14: "B,C" is not a variable name: write one entry for each variable',
    ],
    ['the whole environment', '{"defaults": {"env": ["*"]}}', 'assay.json:1:23: "*" is not a variable name'],
    ['a missing package', '{"packages": ["gone"]}', '"gone" is not a folder'],
  ])('%s', async (_, text, message) => {
    write({ 'assay.json': text });
    await expect(load()).rejects.toMatchObject({
      code: 'ASSAY_CONFIG',
      detail: expect.stringContaining(message),
    });
  });

  test('no file at all', async () => {
    await expect(load()).rejects.toMatchObject({ code: 'ASSAY_NO_CONFIG' });
  });

  test('two packages of the same name', async () => {
    write({
      'assay.json': { packages: ['a', 'b'] },
      'a/package.json': { name: 'x' },
      'b/package.json': { name: 'x' },
    });
    await expect(load()).rejects.toThrow('two packages are called x: a and b');
  });
});
