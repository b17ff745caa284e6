// A command finds the programs of its package and of the folders above it, as `npm run` has it. Which programs it
// looked up there are facts: each test begins with an empty local store, and asks what a second clone takes.
import { chmodSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { run } from '../../../bin/library.ts';
import { baseEnvironment, type RunOptions, Workshop } from '../../rig/assay.ts';
import { eventsOf, type GraphRan } from '../../rig/graph.ts';
import { ServerProcess } from '../../rig/server.ts';

let shop: Workshop;
let server: ServerProcess;
let stores = 0;

beforeEach(async () => {
  shop = new Workshop();
  server = await ServerProcess.start(join(shop.folder, 'served'));
});

afterEach(async () => {
  await server.stop();
  shop.remove();
});

/** `runner` of the package starts `helper` of the workspace by its name, as c8 starts mocha. */
const FILES: Readonly<Record<string, string>> = {
  'package.json': '{"name": "all", "workspaces": ["packages/*"]}',
  'assay.json': '{"packageSteps": {"test": {"inputs": ["in.txt"], "outputs": ["out.txt"]}}}',
  'packages/app/package.json': '{"name": "app", "scripts": {"test": "runner helper > out.txt"}}',
  'packages/app/in.txt': 'in\n',
  'packages/app/node_modules/.bin/runner': '#!/bin/sh\n"$@"\n',
  'node_modules/.bin/helper': '#!/bin/sh\necho helped\n',
};

function clone(path: string, files = FILES): string {
  for (const [name, content] of Object.entries(files)) put(join(shop.folder, path, name), content);
  return join(shop.folder, path);
}

function put(file: string, content: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  chmodSync(file, content.startsWith('#!') ? 0o755 : 0o644);
}

/** On a machine of its own, with an empty store. */
async function runAlone(cwd: string, steps: readonly string[], options: RunOptions = {}): Promise<GraphRan> {
  stores++;
  const store = join(shop.folder, `store-${stores}`);
  const args = ['run', '--json', '--store', store, '--remote', server.url, ...steps];
  return eventsOf(await shop.assay(args, { ...options, cwd }));
}

const warnings = ({ events }: GraphRan) => events.flatMap(({ text }) => text ?? []);

test('a program of the package starts one of the workspace by its name, and a second clone hits', async () => {
  const first = await runAlone(clone('one'), ['test']);
  expect(first.outcomes, first.stderr).toEqual({ 'app#test': 'miss' });
  const second = await runAlone(clone('deeper/two'), ['test']);
  expect(second.outcomes).toEqual({ 'app#test': 'hit-remote' });
});

test.each([
  ['changes', 'node_modules/.bin/helper', 'echo changed'],
  ['appears in the package', 'packages/app/node_modules/.bin/helper', 'echo nearer'],
])('a program that %s is a miss', async (_, file, line) => {
  expect((await runAlone(clone('one'), ['test'])).outcomes).toEqual({ 'app#test': 'miss' });
  const other = clone('two');
  put(join(other, file), `#!/bin/sh\n${line}\n`);
  const second = await runAlone(other, ['test']);
  expect(second.outcomes).toEqual({ 'app#test': 'miss' });
  const again = await runAlone(clone('three'), ['test']);
  expect(again.outcomes).toEqual({ 'app#test': 'hit-remote' });
});

test('a step that uses no package is a hit whether or not the packages are installed', async () => {
  const files = {
    'package.json': '{"name": "one"}',
    'assay.json':
      '{"steps": {"copy": {"command": "cat in.txt > out.txt", "inputs": ["in.txt"], "outputs": ["out.txt"]}}}',
    'in.txt': 'in\n',
  };
  const first = await runAlone(clone('bare', files), ['copy']);
  expect(first.outcomes).toEqual({ copy: 'miss' });
  expect(warnings(first).join('\n')).not.toContain('node_modules');
  const installed = clone('installed', { ...files, 'node_modules/.bin/other': '#!/bin/sh\n' });
  expect((await runAlone(installed, ['copy'])).outcomes).toEqual({ copy: 'hit-remote' });
  put(join(installed, 'node_modules/.bin/cat'), '#!/bin/sh\necho other\n');
  expect((await runAlone(installed, ['copy'])).outcomes).toEqual({ copy: 'miss' });
});

test('a nearer program that appears ends that a step is up to date', async () => {
  const root = clone('one');
  const run = () => shop.assay(['run', '--json', 'test'], { cwd: root }).then(eventsOf);
  for (let round = 0; round < 3; round++) await run();
  expect((await run()).outcomes).toEqual({ 'app#test': 'hit-local' });
  put(join(root, 'packages/app/node_modules/.bin/helper'), '#!/bin/sh\necho nearer\n');
  expect((await run()).outcomes).toEqual({ 'app#test': 'miss' });
});

test('a folder that becomes a package between the step and the root ends it too', async () => {
  const root = clone('one');
  const run = () => shop.assay(['run', '--json', 'test'], { cwd: root }).then(eventsOf);
  for (let round = 0; round < 3; round++) await run();
  put(join(root, 'packages/node_modules/.bin/helper'), '#!/bin/sh\necho between\n');
  const { outcomes, ends } = await run();
  expect(outcomes).toEqual({ 'app#test': 'miss' });
  expect(ends['app#test']?.reason).toContain('package-path');
});

describe('a command alone', () => {
  const files = {
    'package.json': '{"name": "one"}',
    'node_modules/.bin/runner': '#!/bin/sh\n"$@"\n',
    'node_modules/.bin/helper': '#!/bin/sh\necho helped\n',
  };

  test.each([
    ['watched', ['run']],
    ['--hermetic=strict', ['run', '--hermetic=strict']],
    ['--hermetic=off', ['run', '--hermetic=off']],
    ['--sandbox', ['run', '--sandbox']],
    ['audit', ['audit']],
    ['reproduce', ['reproduce']],
  ])('%s: finds the programs of its package', async (_, [name = '', ...flags]) => {
    const cwd = clone('one', files);
    const ran = await shop.assay([name, ...flags, '--', 'runner', 'helper'], { cwd });
    expect(ran.stderr).not.toContain('not found');
    expect(ran.code === 0 || (name !== 'run' && ran.code === 1), ran.stderr).toBe(true);
  });

  test('the library does the same', async () => {
    const workspace = clone('one', files);
    let said = '';
    const stdout = { write: (text: string | Uint8Array) => (said += Buffer.from(text).toString()) };
    const { exitCode } = await run(
      { workspace, command: ['runner', 'helper'] },
      { store: shop.store, environment: baseEnvironment(), stdout },
    );
    expect([exitCode, said]).toEqual([0, 'helped\n']);
  });

  test('in a folder of the workspace that it names by --cwd', async () => {
    const cwd = clone('one', { ...files, 'packages/app/in.txt': 'in\n' });
    const { stdout } = await shop.assay(['run', '--cwd', 'packages/app', '--', 'helper'], { cwd });
    expect(stdout).toBe('helped\n');
  });

  test('whose package changes in the sandbox is a miss', async () => {
    const run = (cwd: string) => shop.run(['--sandbox', '--', 'runner', 'helper'], { cwd });
    expect((await run(clone('one', files))).summary.outcome).toBe('miss');
    expect((await run(clone('two', files))).summary.outcome).toBe('hit-local');
    const changed = clone('three', { ...files, 'node_modules/.bin/helper': '#!/bin/sh\necho other\n' });
    const ran = await run(changed);
    expect([ran.summary.outcome, ran.stdout]).toEqual(['miss', 'other\n']);
  });
});

test('nothing above the workspace is on PATH', async () => {
  put(join(shop.folder, 'package.json'), '{"name": "above"}');
  put(join(shop.folder, 'node_modules/.bin/helper'), '#!/bin/sh\necho above\n');
  const { code, stderr } = await shop.assay(['run', '--', 'sh', '-c', 'helper']);
  expect([code, stderr]).toEqual([127, expect.stringContaining('helper: not found')]);
});

test('a tool in another place wins over a program that the command itself puts into .bin', async () => {
  put(join(shop.folder, 'bin/helper'), '#!/bin/sh\necho declared\n');
  const making =
    'mkdir -p node_modules/.bin && printf "#!/bin/sh\\necho own\\n" > node_modules/.bin/helper && chmod +x node_modules/.bin/helper && helper';
  const PATH = `${shop.folder}/bin:${baseEnvironment().PATH}`;
  shop.write('package.json', '{"name": "one"}');
  const flags = ['--output', 'node_modules'];
  const own = await shop.assay(['run', ...flags, '--', 'sh', '-c', making], { env: { PATH } });
  expect(own.stdout).toBe('own\n');
  const declared = await shop.assay(['run', ...flags, '--tool', 'helper', '--', 'sh', '-c', making], {
    env: { PATH },
  });
  expect(declared.stdout, declared.stderr).toBe('declared\n');
});

test('a command finds what it puts into .bin itself, from a fresh clone and again', async () => {
  const step = {
    command: 'cp -R vendor node_modules && helper > out.txt',
    inputs: ['vendor/**'],
    outputs: ['node_modules', 'out.txt'],
  };
  const files = {
    'package.json': '{"name": "one"}',
    'assay.json': JSON.stringify({ steps: { make: step } }),
    'vendor/.bin/helper': '#!/bin/sh\necho made\n',
  };
  const root = clone('one', files);
  expect((await runAlone(root, ['make'])).outcomes).toEqual({ make: 'miss' });
  expect((await runAlone(root, ['make'])).outcomes).toEqual({ make: 'hit-remote' });
  expect((await runAlone(clone('two', files), ['make'])).outcomes).toEqual({ make: 'hit-remote' });
});

test('node_modules that is a link out of the workspace counts by what it leads to', async () => {
  const { 'node_modules/.bin/helper': _, ...files } = FILES;
  const linked = (path: string, installed: string) => {
    const root = clone(path, files);
    symlinkSync(join(shop.folder, installed), join(root, 'node_modules'));
    return root;
  };
  put(join(shop.folder, 'installed/.bin/helper'), '#!/bin/sh\necho helped\n');
  put(join(shop.folder, 'other/.bin/helper'), '#!/bin/sh\necho other\n');
  const run = (cwd: string) => shop.assay(['run', '--json', 'test'], { cwd }).then(eventsOf);
  const root = linked('one', 'installed');
  expect((await run(root)).outcomes).toEqual({ 'app#test': 'miss' });
  expect((await run(root)).outcomes).toEqual({ 'app#test': 'hit-local' });
  renameSync(join(shop.folder, 'installed'), join(shop.folder, 'moved'));
  renameSync(join(shop.folder, 'other'), join(shop.folder, 'installed'));
  expect((await run(root)).outcomes).toEqual({ 'app#test': 'miss' });
  expect((await run(linked('two', 'moved'))).outcomes).toEqual({ 'app#test': 'miss' });
});

test('relative and empty entries of PATH are not searched', async () => {
  shop.script('helper', 'echo here');
  const PATH = `:.:${baseEnvironment().PATH}:`;
  const callers = await shop.assay(['run', '--', 'helper'], { env: { PATH } });
  expect([callers.code, callers.stderr]).toEqual([127, expect.stringContaining('ASSAY_COMMAND_NOT_FOUND')]);
  const flags = ['--env', 'PATH=:bin:/usr/bin:/bin', '--'];
  const declared = await shop.assay(['run', ...flags, 'sh', '-c', 'echo "$PATH"']);
  expect(declared.stdout, declared.stderr).toBe(':bin:/usr/bin:/bin\n');
});

test('a declared PATH comes after the programs of the package, and is in the key without their folder', async () => {
  const files = {
    'package.json': '{"name": "one"}',
    'node_modules/.bin/helper': '#!/bin/sh\necho helped\n',
  };
  const flags = ['--env', 'PATH', '--', 'sh', '-c', 'helper'];
  const keys = [];
  for (const name of ['one', 'two']) {
    const { summary, stdout } = await shop.run(flags, { cwd: clone(name, files) });
    expect(stdout).toBe('helped\n');
    keys.push(summary.key);
  }
  expect(keys[0]).toBe(keys[1]);
});

describe('where a program is not found', () => {
  const NO_PACKAGE = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

  test.each([
    ['a shell', 'nonesuch now', 'sh: 1: nonesuch: not found'],
    ['env', 'env nonesuch', 'env: '],
    [
      'Python',
      '/usr/bin/python3 -c "import subprocess; subprocess.run([\'nonesuch\'])"',
      'FileNotFoundError',
    ],
    ['Node', 'node -e "child_process.spawn(\'nonesuch\')"', 'spawn nonesuch ENOENT'],
  ])('the message says what PATH was and what to do: %s', async (_, line, said) => {
    shop.write('package.json', '{"name": "one"}');
    const steps = { test: { command: line, inputs: [] } };
    shop.write('assay.json', JSON.stringify({ steps }));
    const ran = await runAlone(shop.workspace, ['test']);
    expect(ran.outcomes).toEqual({ test: 'failed' });
    expect(ran.stdout + ran.stderr).toContain(said);
    const told = warnings(ran).find((text) => text.includes('nonesuch was not found'));
    expect(told).toContain(`node_modules/.bin:${NO_PACKAGE}): install the dependencies of the package`);
  });

  test('it names the caller’s program, and --tool for it', async () => {
    put(join(shop.folder, 'bin/rare-program'), '#!/bin/sh\n');
    const PATH = `${shop.folder}/bin:${baseEnvironment().PATH}`;
    const line = 'make -s -f all.mk';
    shop.write('all.mk', 'all:\n\trare-program --now\n');
    const { stderr } = await shop.assay(['run', '--', 'sh', '-c', line], { env: { PATH } });
    expect(stderr).toContain(
      `rare-program was not found on the command’s PATH (${NO_PACKAGE}): it is ${shop.folder}/bin/rare-program on yours, so name it in "tools" (--tool rare-program)`,
    );
  });

  test('a missing file is no missing program', async () => {
    const { code, stderr } = await shop.assay(['run', '--', 'sh', '-c', 'cat nonesuch; exit 3']);
    expect([code, stderr]).toEqual([3, expect.not.stringContaining('was not found on')]);
  });

  test('the command’s own program: the error has the searched PATH', async () => {
    const PATH = `${shop.folder}/none:/usr/bin:/bin`;
    const { code, stderr } = await shop.assay(['run', '--', 'nonesuch'], { env: { PATH } });
    expect([code, stderr]).toEqual([127, expect.stringContaining(`on PATH (${PATH})`)]);
  });
});

describe('the runtime of the caller', () => {
  /** As pnpm writes it. */
  const shim = (root: string) =>
    [
      '#!/bin/sh',
      'basedir=$(dirname "$(echo "$0" | sed -e \'s,\\\\,/,g\')")',
      'if [ -z "$NODE_PATH" ]; then',
      `  export NODE_PATH="${root}/node_modules/.pnpm/tool@1.0.0/node_modules:${root}/node_modules/.pnpm/node_modules"`,
      'fi',
      'if [ -x "$basedir/node" ]; then',
      '  exec "$basedir/node"  "$basedir/../.pnpm/tool@1.0.0/node_modules/tool/cli.js" "$@"',
      'else',
      '  exec node  "$basedir/../.pnpm/tool@1.0.0/node_modules/tool/cli.js" "$@"',
      'fi',
      '',
    ].join('\n');
  const withShim = (path: string) => {
    const tool = 'node_modules/.pnpm/tool@1.0.0/node_modules/tool';
    return clone(path, {
      'package.json': '{"name": "one"}',
      'node_modules/.bin/tool': shim(join(shop.folder, path)),
      [`${tool}/package.json`]: '{"name": "tool", "version": "1.0.0"}',
      [`${tool}/cli.js`]: '// started by node\n',
      'assay.json': JSON.stringify({ steps: { test: { command: 'tool', inputs: [] } } }),
    });
  };
  const withNode = (name: string, says: string) => {
    put(join(shop.folder, name, 'node'), `#!/bin/sh\necho ${says}\n`);
    return { PATH: `${join(shop.folder, name)}:/usr/bin:/bin` };
  };

  test('starts what a shim of pnpm starts, and is in the key', async () => {
    const first = await runAlone(withShim('one'), ['test'], { env: withNode('v1', 'first') });
    expect(first.stdout + first.stderr).toContain('first');
    const other = await runAlone(withShim('two'), ['test'], { env: withNode('v2', 'second') });
    expect(other.ends.test).toMatchObject({ outcome: 'miss', exitCode: 0 });
    expect(other.ends.test?.key).not.toBe(first.ends.test?.key);
    expect(other.stdout + other.stderr).toContain('second');
  });

  test('the key is the same in a clone at another path, and another if the package’s program changes', async () => {
    const env = withNode('v1', 'first');
    const keys = [];
    for (const name of ['one', 'other/two'])
      keys.push((await runAlone(withShim(name), ['test'], { env })).ends.test?.key);
    expect(keys[0]).toBe(keys[1]);
    put(join(shop.folder, 'one/node_modules/.pnpm/tool@1.0.0/node_modules/tool/cli.js'), '// edited\n');
    expect((await runAlone(join(shop.folder, 'one'), ['test'], { env })).ends.test?.key).not.toBe(keys[0]);
  });

  test('a command that runs another one is told', async () => {
    put(join(shop.folder, 'mine/python3'), '#!/bin/sh\n');
    const PATH = `${shop.folder}/mine:${baseEnvironment().PATH}`;
    shop.script('start', "python3 -c 'print(1)'");
    const ran = (flags: readonly string[]) =>
      shop.run(['--input', 'start', ...flags, '--', './start'], { env: { PATH } });
    const told = `not your ${shop.folder}/mine/python3: name python3 in "tools"`;
    expect((await ran([])).summary.warnings.join('\n')).toContain(told);
    expect((await ran(['--tool', 'python3'])).summary.warnings.join('\n')).not.toContain('not your');
  });
});
