// `assay audit` on the steps of an assay.json: --fix adds missing declarations, --all ranks the steps, and
// two concurrent audits do not disturb each other.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Workshop } from '../../rig/assay.ts';

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
});

afterEach(() => shop.remove());

function git(...args: readonly string[]): void {
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { cwd: shop.workspace });
}

const config = () => readFileSync(join(shop.workspace, 'assay.json'), 'utf8');

describe('--fix', () => {
  test('declares what a step reads and writes; the next audit finds nothing', async () => {
    shop.write('a.txt', 'a');
    shop.write('b.txt', 'b');
    const lines = [
      '{',
      '  // what is built here',
      '  "steps": {',
      '    "build": {',
      '      "command": ["sh", "-c", "cat a.txt b.txt > out; test -f c.txt; echo > log"],',
      '      "inputs": ["a.txt"],',
      '      "outputs": ["out"]',
      '    }',
      '  }',
      '}',
    ];
    shop.write('assay.json', `${lines.join('\n')}\n`);
    const first = await shop.assay(['audit', '--fix', 'build']);
    expect(first.code).toBe(3);
    expect(first.stderr).toContain('3 declarations added to assay.json');
    expect(config()).toContain('// what is built here');
    const second = await shop.assay(['audit', '--json', 'build']);
    expect(JSON.parse(second.stdout)).toMatchObject({ hermetic: true, findings: [] });
  });

  test('declares nothing that an earlier audit left behind, so a fresh clone runs', async () => {
    const make = 'cat a.txt b.txt > out; [ -f made ] || echo m > made; ls src; cat made src/* >> out';
    shop.write(
      'assay.json',
      JSON.stringify({ steps: { build: { command: make, inputs: ['a.txt'], outputs: ['out'] } } }),
    );
    for (const name of ['a.txt', 'b.txt', 'src/a', 'src/b', 'src/c']) shop.write(name, name);
    git('init', '-q');
    git('add', '-A');
    git('commit', '-qm', 'all');
    shop.write('src/left', 'of an earlier run');
    expect((await shop.assay(['audit', 'build'])).stdout).toContain('--output made');
    const { stdout } = await shop.assay(['audit', '--fix', 'build']);
    expect(stdout).toContain('git does not track it, so a fresh clone lacks it');
    const { inputs } = JSON.parse(config()).steps.build;
    expect(inputs).toEqual(['a.txt', 'b.txt', 'src/a', 'src/b', 'src/c']);
    git('commit', '-qam', 'fixed');
    const clone = join(shop.folder, 'clone');
    git('clone', '-q', shop.workspace, clone);
    const ran = await shop.assay(['run', 'build'], { cwd: clone });
    expect(ran, ran.stderr).toMatchObject({ code: 0 });
  });

  test('keeps a step that takes every file as it is', async () => {
    shop.write('.gitignore', 'hidden.txt\n');
    shop.write('hidden.txt', 'h');
    shop.write('a.txt', 'a');
    shop.write(
      'assay.json',
      '{ "steps": { "build": { "command": "cat a.txt hidden.txt > out", "outputs": ["out"] } } }',
    );
    expect((await shop.assay(['audit', '--fix', 'build'])).code).toBe(3);
    expect(JSON.parse(config()).steps.build).toMatchObject({ optionalInputs: ['hidden.txt'] });
    expect((await shop.assay(['audit', 'build'])).code).toBe(0);
  });

  test('declares a link together with its target, so that no run warns of it', async () => {
    shop.write('.gitignore', 'node_modules\n');
    shop.write('lib/text', 'text');
    shop.link('node_modules/@x/lib', '../../lib');
    const step = { command: 'cat ../node_modules/@x/lib/text > out', inputs: [], outputs: ['out'] };
    shop.write('assay.json', '{ "packages": ["app"] }');
    shop.write('app/assay.json', JSON.stringify({ steps: { build: step } }));
    expect((await shop.assay(['audit', '--fix', 'app#build'])).code).toBe(3);
    const again = await shop.assay(['audit', '--fix', 'app#build']);
    expect(again).toMatchObject({
      code: 0,
      stderr: 'assay: nothing to add to app/assay.json\n',
    });
    expect((await shop.assay(['run', 'app#build'])).stderr).not.toContain('is a link');
  });

  test('leaves out a link that points out of the workspace, and reports that', async () => {
    shop.write('text', 'text', 0o644, shop.another('lib'));
    shop.link('lib', '../lib');
    shop.write('assay.json', '{ "steps": { "build": { "command": "cat lib/text", "inputs": [] } } }');
    const { stderr } = await shop.assay(['audit', '--fix', 'build']);
    expect(stderr).toContain('lib was not added: a link out of the workspace');
    expect(stderr).toMatch(/nothing to add to assay.json; \d findings? need more than a declaration/);
  });

  test('writes nothing that a run would refuse, and reports what it left out', async () => {
    shop.write('.gitignore', 'cache\n');
    shop.write('a.txt', 'a');
    shop.write('count', '1');
    shop.write('cache/x', 'x');
    const command = 'cat a.txt count > out; ls cache > names; echo 2 >> count';
    const steps = {
      build: { command, inputs: [], outputs: ['out'] },
      other: { command: 'ls > names', inputs: [], outputs: ['names'] },
    };
    shop.write('assay.json', JSON.stringify({ steps }));
    const { stderr } = await shop.assay(['audit', '--fix', 'build']);
    expect(stderr).toContain('assay: count was not added: the command both reads and writes it');
    expect(stderr).toMatch(/assay: names was not added: .*other.* both claim names/);
    expect(JSON.parse(config()).steps.build.inputs).toContain('a.txt');
    expect((await shop.assay(['run', 'build'])).code).toBe(0);
  });

  test('writes patterns that a person would write, and says what it does not declare', async () => {
    shop.write('.gitignore', '__pycache__\n');
    for (const at of Array(17).keys()) shop.write(`src/pkg/m${at}.py`, `x = ${at}\n`);
    shop.write(
      'main.py',
      'import sys, glob\nsys.path.insert(0, "src")\nfor f in sorted(glob.glob("src/pkg/*.py")):\n    __import__("pkg." + f[8:-3])\n',
    );
    const build = { command: 'python3 main.py; echo > build.tmp; echo > result', inputs: ['main.py'] };
    shop.write('assay.json', JSON.stringify({ steps: { build } }));
    const { stderr } = await shop.assay(['audit', '--fix', 'build']);
    expect(JSON.parse(config()).steps.build).toEqual({
      ...build,
      inputs: ['main.py', expect.stringMatching(/^src\/(?:pkg\/)?\*\*(?:\/\*\.py)?$/)],
      outputs: ['result'],
    });
    expect(stderr).toContain('build.tmp was not added: a temporary file');
    expect((await shop.assay(['run', 'build'])).code).toBe(0);
  });

  test('adds to the declarations that a package has from packageSteps', async () => {
    shop.write('lib/assay.json', '{ "steps": { "build": {} } }');
    shop.write('lib/a', 'a');
    shop.write('lib/b', 'b');
    const build = { command: 'cat a b > out', inputs: ['a'], outputs: ['out'] };
    shop.write('assay.json', JSON.stringify({ packages: ['lib'], packageSteps: { build } }));
    await shop.assay(['audit', '--fix', 'lib#build']);
    const own = JSON.parse(readFileSync(join(shop.workspace, 'lib/assay.json'), 'utf8'));
    expect(own.steps.build).toEqual({ inputs: ['a', 'b'] });
  });

  test('requires a step', async () => {
    const ran = await shop.assay(['audit', '--fix', '--', 'true']);
    expect(ran).toMatchObject({ code: 125 });
    expect(ran.stderr).toContain('name a STEP');
  });
});

test('an observed step needs no declaration for its reads, but for its writes', async () => {
  shop.write('a.txt', 'a');
  const observed = { command: 'cat a.txt; test -f b; ls', inputs: [], observed: true };
  const writing = { ...observed, command: 'cat a.txt > stray' };
  shop.write('assay.json', JSON.stringify({ steps: { observed, writing } }));
  expect(await shop.assay(['audit', 'observed'])).toMatchObject({ code: 0 });
  const { code, stdout } = await shop.assay(['audit', '--json', 'writing']);
  expect([code, JSON.parse(stdout).findings]).toMatchObject([3, [{ kind: 'write', path: 'stray' }]]);
});

test('--all audits each step after its dependencies, and lists the worst first', async () => {
  shop.write('a.txt', 'a');
  const steps = {
    last: { command: 'cat mid > end', inputs: [], outputs: ['end'], dependsOn: ['middle'] },
    middle: {
      command: 'cat first > mid; echo > stray; echo > other',
      inputs: [],
      outputs: ['mid'],
      dependsOn: ['start'],
    },
    start: { command: 'cat a.txt > first', inputs: ['a.txt'], outputs: ['first'] },
  };
  shop.write('assay.json', JSON.stringify({ steps }));
  const ran = await shop.assay(['audit', '--all']);
  expect(ran.code).toBe(3);
  expect(ran.stdout).toContain('2 of 3 steps use nothing undeclared');
  const order = ran.stdout.split('\n').slice(2, 5);
  expect(order[0]).toMatch(/middle +observed: 2 paths left undeclared/);
  const json = JSON.parse((await shop.assay(['audit', '--all', '--json'])).stdout);
  expect(json).toMatchObject({ hermetic: false });
  expect(json.steps.map(({ step }: { step: string }) => step)[0]).toBe('middle');
  await shop.assay(['audit', '--all', '--fix']);
  expect((await shop.assay(['audit', '--all'])).code).toBe(0);
});

test('two concurrent audits, of one workspace and by different users, do not disturb each other', async () => {
  shop.write('in', 'x');
  shop.write('secret', 's');
  execFileSync('chmod', ['-R', 'a+rwX', shop.folder]);
  const audit = (n: number) => {
    const script = `sleep 0.$((RANDOM % 3)); cat in${n % 2 ? ' secret' : ''} > out${n}; cat out${n}`;
    const args = [
      'audit',
      '--json',
      '--store',
      join(shop.folder, `store${n}`),
      '--input',
      'in',
      '--output',
      `out${n}`,
    ];
    const command = [...args, '--', 'bash', '-c', script];
    return n < 2 ? shop.assay(command) : shop.assayAsOrdinaryUser(command);
  };
  const all = await Promise.all([0, 1, 2, 3].map(audit));
  const found = all.map(({ stdout }) =>
    JSON.parse(stdout).findings.map(({ kind, path }: { kind: string; path: string }) => `${kind} ${path}`),
  );
  expect(found).toEqual([[], ['read secret'], [], ['read secret']]);
});
