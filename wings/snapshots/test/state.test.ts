// A step's state comes from the nearest earlier run, and never gets into a published result.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runWith } from '../../../client/library/library.ts';
import { digestOf, toWire } from '../../../core/digest.ts';
import { parseNamespace } from '../../../core/namespace.ts';
import { ActionResult } from '../../../core/proto/generated/reapi.ts';
import { emptyResult } from '../../../core/result.ts';
import { openDiskStore } from '../../../store/open.ts';
import {
  baseEnvironment,
  CLIENT_FORM,
  FORMS,
  RUNTIME_FORMS,
  type RunOptions,
  Workshop,
} from '../../../test/rig/assay.ts';
import { Random } from '../../../test/rig/random.ts';
import { ServerProcess } from '../../../test/rig/server.ts';
import { rot } from '../../../test/rig/stores/rot.ts';
import { describeTree } from '../../../test/rig/tree.ts';
import { stepHook } from '../index.ts';

/** Prints its earlier state, and saves what it has read. */
const HONEST = [
  'echo "knows: $(cat cache/seen 2>/dev/null)"',
  'mkdir -p cache && cp src cache/seen && cp src out',
];
/** The same, but its earlier state gets into its output. */
const LYING = [...HONEST, 'if [ -e cache/first ]; then cat cache/first >> out; else cp src cache/first; fi'];

const ACTION = ['--input', 'src', '--input', 'compile.sh', '--output', 'out', '--state', 'cache'];

let shop: Workshop;
const closers: (() => Promise<void>)[] = [];

beforeEach(() => {
  shop = new Workshop();
  shop.script('compile.sh', ...HONEST);
});

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
  shop.remove();
});

function compile(src: string, args: readonly string[] = [], options: RunOptions = {}) {
  writeFileSync(join(options.cwd ?? shop.workspace, 'src'), src);
  return shop.run([...ACTION, ...args, '--', 'sh', 'compile.sh'], options);
}

function git(...args: readonly string[]): string {
  const identity = ['-c', 'user.name=t', '-c', 'user.email=t@t', '-c', 'commit.gpgsign=false'];
  return execFileSync('git', [...identity, ...args], { cwd: shop.workspace, stdio: 'pipe' })
    .toString()
    .trim();
}

let moment = 1_700_000_000;

/** An empty commit, each a minute after the one before. */
function commit(): string {
  moment += 60;
  const date = `${moment} +0000`;
  execFileSync(
    'git',
    ['-c', 'user.name=t', '-c', 'user.email=t@t', 'commit', '--quiet', '--allow-empty', '-m', 'x'],
    {
      cwd: shop.workspace,
      env: { ...process.env, GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date },
    },
  );
  return git('rev-parse', 'HEAD');
}

function out(workspace = shop.workspace): string {
  return readFileSync(join(workspace, 'out'), 'utf8');
}

describe.each(RUNTIME_FORMS)('%s', (form) => {
  test('state reaches the next run, is in no key, and a result made with it is not published', async () => {
    const first = await compile('one', [], { form });
    expect(first.stdout).toBe('knows: \n');
    expect(first.summary).toMatchObject({ outcome: 'miss', published: true, status: 'declared' });
    rmSync(join(shop.workspace, 'cache'), { recursive: true });
    const second = await compile('two', [], { form });
    expect(second.stdout).toBe('knows: one\n');
    expect(second.summary).toMatchObject({
      outcome: 'miss',
      published: false,
      status: 'unproven',
      exitCode: 0,
    });
    expect(second.summary.notPublished).toContain('it was made with the state of an earlier run');
    const again = await compile('one', [], { form });
    expect(again.summary).toMatchObject({ outcome: 'hit-local', key: first.summary.key });
  });
});

test('the state of the nearest ancestor commit is preferred to a newer one on another branch', async () => {
  git('init', '--quiet', '--initial-branch=main');
  const root = commit();
  await compile('of the root');
  const near = commit();
  await compile('of the nearest');
  commit();
  git('checkout', '--quiet', '-b', 'side', root);
  commit();
  await compile('of the side');
  git('checkout', '--quiet', 'main');
  const here = await compile('here');
  expect(here.stdout).toBe('knows: of the nearest\n');
  expect(here.summary.warnings).toContain(`starting with the state of commit ${near.slice(0, 12)}`);
});

test('if no ancestor commit has a state, the newest one is used', async () => {
  git('init', '--quiet', '--initial-branch=main');
  const root = commit();
  commit();
  await compile('earlier');
  commit();
  await compile('later');
  git('checkout', '--quiet', '--detach', root);
  expect((await compile('here')).stdout).toBe('knows: later\n');
});

test('two folders of one repository do not share state', async () => {
  git('init', '--quiet');
  commit();
  const [a, b] = ['a', 'b'].map((name) => {
    shop.write(`${name}/compile.sh`, HONEST.join('\n'));
    return join(shop.workspace, name);
  });
  await compile('of a', [], { cwd: a ?? '' });
  expect((await compile('of b', [], { cwd: b ?? '' })).stdout).toBe('knows: \n');
});

test.each(['http', 'grpc'])('a fresh checkout gets the state from the remote, over %s', async (protocol) => {
  const server = await ServerProcess.start(join(shop.folder, 'server'));
  closers.push(() => server.stop());
  const remote = ['--remote', server.url.replace(/^http/, protocol)];
  await compile('one', remote);
  const fresh = shop.another('fresh');
  shop.write('compile.sh', readFileSync(join(shop.workspace, 'compile.sh')), 0o755, fresh);
  const elsewhere = { cwd: fresh, env: { ASSAY_STORE: join(shop.folder, 'other-store') } };
  const ran = await compile('two', remote, elsewhere);
  expect(ran.stdout).toBe('knows: one\n');
  expect(ran.summary.warnings).toContain('starting with the state of an earlier run, from the remote');
  expect(ran.summary).toMatchObject({ published: false, shared: false });
});

test('a remote that is down costs only the state', async () => {
  const ran = await compile('one', ['--remote', 'http://127.0.0.1:9']);
  expect(ran.summary).toMatchObject({ exitCode: 0, published: true });
});

test('a strict run gives the result of a clean run, even if the compiler’s state affects its output', async () => {
  shop.script('compile.sh', ...LYING);
  await compile('one');
  const stale = await compile('two');
  expect(out()).toBe('twoone');
  expect(stale.summary.published).toBe(false);
  const strict = await compile('two', ['--hermetic=strict']);
  expect(strict.summary).toMatchObject({ outcome: 'miss', exitCode: 0, published: true, status: 'declared' });
  expect(out()).toBe('two');
  const hit = await compile('two');
  expect(hit.summary).toMatchObject({ outcome: 'hit-local', key: stale.summary.key });
  expect(out()).toBe('two');
});

test('a strict run saves its state for runs that are not strict', async () => {
  await compile('one', ['--hermetic=strict']);
  expect((await compile('two')).stdout).toBe('knows: one\n');
});

test('other files in the state folder are not used', async () => {
  shop.write('cache/seen', 'a stranger’s');
  const first = await compile('one');
  expect(first.stdout).toBe('knows: \n');
  expect(first.summary.published).toBe(true);
  shop.write('cache/seen', 'edited');
  shop.write('cache/stray', 'x');
  expect((await compile('two')).stdout).toBe('knows: one\n');
  expect(shop.has('cache/stray')).toBe(false);
});

test('without a store the state folders are left as they are', async () => {
  shop.write('cache/seen', 'mine');
  shop.write('no-folder', '');
  const ran = await compile('one', ['--store', join(shop.workspace, 'no-folder')]);
  expect(ran.stdout).toBe('knows: mine\n');
  expect(ran.summary).toMatchObject({ exitCode: 0, published: false });
});

test('a failing command saves no state, and a single file may be state', async () => {
  const script = 'cat info 2>/dev/null; echo "$1" > info; cp src out; exit $2';
  const run = (src: string, code: number) => {
    shop.write('src', src);
    const action = ['--input', 'src', '--output', 'out', '--state', 'info', '--state', 'never'];
    return shop.run([...action, '--', 'sh', '-c', script, 'sh', 'info', String(code)]);
  };
  expect((await run('one', 1)).code).toBe(1);
  expect((await run('two', 1)).stdout).toBe('');
  expect((await run('three', 0)).stdout).toBe('');
  expect((await run('four', 0)).stdout).toBe('info\n');
});

test('a corrupt snapshot is skipped for the one before', async () => {
  const script =
    'echo "knows: $(head -n 1 cache/pad 2>/dev/null)"; mkdir -p cache; yes "$(cat src)" | head -n 50000 > cache/pad; cp src out';
  const run = (src: string) => {
    shop.write('src', src);
    return shop.run(['--input', 'src', '--output', 'out', '--state', 'cache', '--', 'sh', '-c', script]);
  };
  await run('one');
  await run('two');
  rot(shop.store, 'two\n'.repeat(50_000));
  rmSync(join(shop.workspace, 'cache'), { recursive: true });
  const ran = await run('three');
  expect(ran.stdout).toBe('knows: one\n');
  expect(ran.code).toBe(0);
});

test.each(['src', '.git/hooks/pre-commit', '../evil'])(
  'a hostile snapshot that would write %s is skipped',
  async (path) => {
    await compile('one');
    const store = await openDiskStore({ directory: shop.store });
    const namespace = parseNamespace('state');
    const [step] = (await store.labels.newest(namespace, ['']))?.label.split('/') ?? [];
    const evil = Buffer.from('evil');
    await store.blobs.put(digestOf(evil), evil);
    const label = `${step}/none/planted`;
    const key = digestOf(Buffer.from(`assay state\0${label}`)).hash;
    const outputFiles = [
      { path, digest: toWire(digestOf(evil)), isExecutable: true, contents: Buffer.alloc(0) },
    ];
    const result = ActionResult.encode({ ...emptyResult(0), outputFiles }).finish();
    await store.results.put({ namespace, key }, result);
    await store.labels.put({ namespace, label }, key);
    await store.close();
    const ran = await compile('two');
    expect(ran.summary.warnings.join()).toContain('could not be used');
    expect(ran.summary.exitCode).toBe(0);
    expect(out()).toBe('two');
    expect(existsSync(join(shop.workspace, '.git'))).toBe(false);
    expect(existsSync(join(shop.folder, 'evil'))).toBe(false);
  },
);

test('an audit runs without state, and leaves complete outputs', async () => {
  shop.script('compile.sh', 'mkdir -p cache dist', '[ -e cache/a ] || cp src dist/a', 'cp src cache/a');
  shop.write('src', 'one');
  const action = ['--input', 'src', '--input', 'compile.sh', '--output', 'dist', '--state', 'cache'];
  expect((await shop.run([...action, '--', 'sh', 'compile.sh'])).code).toBe(0);
  const audit = await shop.assay(['audit', ...action, '--', 'sh', 'compile.sh']);
  expect(audit.code, audit.stdout).toBe(0);
  expect(readFileSync(join(shop.workspace, 'dist/a'), 'utf8')).toBe('one');
});

test('the incomplete state of a killed run is not used', async () => {
  await compile('one');
  shop.script('compile.sh', 'echo half > cache/seen', 'echo ready', 'sleep 1000');
  writeFileSync(join(shop.workspace, 'src'), 'two');
  const [program, ...rest] = [...FORMS[CLIENT_FORM], 'run', ...ACTION, '--', 'sh', 'compile.sh'];
  const child = spawn(program, rest, {
    cwd: shop.workspace,
    env: { ...baseEnvironment(), ASSAY_STORE: shop.store },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await new Promise<void>((resolve) => {
    createInterface(child.stdout).on('line', (line) => line === 'ready' && resolve());
  });
  child.kill('SIGKILL');
  expect(readFileSync(join(shop.workspace, 'cache/seen'), 'utf8')).toBe('half\n');
  shop.script('compile.sh', ...HONEST);
  const again = await compile('three');
  expect(again.stdout).toBe('knows: one\n');
  expect(again.code).toBe(0);
});

test('after kills at random moments, a run finds only a state that some run saved', async () => {
  shop.script(
    'compile.sh',
    'mkdir -p cache dist',
    'echo "found: $(cat cache/* | sort -u | wc -l) $(cat dist/* | sort -u | wc -l)"',
    'for i in 1 2 3 4 5 6 7 8 9; do cp src cache/$i; cp src dist/$i; done',
  );
  const action = ['--input', 'src', '--input', 'compile.sh', '--output', 'dist', '--state', 'cache'];
  const random = new Random(7);
  for (let kill = 0; kill < 10; kill++) {
    shop.write('src', `${kill}\n`);
    const [program, ...rest] = [...FORMS.executable, 'run', ...action, '--', 'sh', 'compile.sh'];
    const child = spawn(program, rest, {
      cwd: shop.workspace,
      env: { ...baseEnvironment(), ASSAY_STORE: shop.store },
      stdio: 'ignore',
    });
    const ended = new Promise((resolve) => child.once('close', resolve));
    // Every third run is not killed, so that there is a state to find.
    if (kill % 3 !== 0) await Promise.race([ended, wait(random.below(150))]);
    if (kill % 3 !== 0) child.kill('SIGKILL');
    await ended;
  }
  shop.write('src', 'last\n');
  const ran = await shop.run([...action, '--', 'sh', 'compile.sh']);
  expect(ran.stdout.trim()).toBe('found: 1 1');
  expect(ran.code).toBe(0);
});

test('reading and writing the state, and the outputs that belong to it, is not reported', async () => {
  shop.script('compile.sh', '[ ! -e out ] || cat out', ...HONEST);
  await compile('one', ['--hermetic=strict']);
  const second = await compile('two');
  expect(second.summary.findings).toBeUndefined();
});

test('a link out of the workspace is not saved, and its target is not changed', async () => {
  const script = 'mkdir -p cache; ln -sf /etc/passwd cache/link; cp src out';
  shop.write('src', 'one');
  const action = ['--input', 'src', '--output', 'out'];
  const ran = await shop.run([...action, '--state', 'cache', '--', 'sh', '-c', script]);
  expect(ran.code).toBe(0);
  expect(ran.summary.warnings.join()).toContain('its state was not kept');
  const outside = shop.another('outside');
  mkdirSync(join(outside, 'cache'));
  writeFileSync(join(outside, 'cache/mine'), '');
  symlinkSync(outside, join(shop.workspace, 'way'));
  const behind = await shop.run([...action, '--state', 'way/cache', '--', 'cp', 'src', 'out']);
  expect(behind.summary).toMatchObject({ exitCode: 0, published: false });
  expect(existsSync(join(outside, 'cache/mine'))).toBe(true);
});

test.each<[string, string[], string]>([
  ['state that is an output', ['--output', 'a', '--state', 'a/b'], 'ASSAY_OUTPUT_OVERLAP'],
  ['state that is a checkpoint', ['--checkpoint', 'a', '--state', 'a'], 'ASSAY_OUTPUT_OVERLAP'],
  ['state outside', ['--state', '../x'], 'ASSAY_BAD_PATH'],
  ['git’s own folder', ['--state', '.git'], 'git’s own: no command makes it'],
  ['state in a sandbox', ['--state', 'a', '--sandbox'], '--sandbox cannot be used with state'],
])('%s is refused with a message', async (_name, args, words) => {
  const ran = await shop.assay(['run', ...args, '--', 'true']);
  expect(ran.code).toBe(125);
  expect(ran.stderr).toContain(words);
});

describe('a step of an assay.json', () => {
  const step = {
    command: ['sh', 'compile.sh'],
    inputs: ['src', 'compile.sh'],
    outputs: ['out'],
    state: ['cache'],
  };
  const build = (src: string, ...args: string[]) => {
    shop.write('src', src);
    return shop.assay(['run', '--logs=stream', ...args, 'build']);
  };

  test('can have state, and with --force gives the result of a clean run', async () => {
    shop.script('compile.sh', ...LYING);
    shop.write('assay.json', JSON.stringify({ steps: { build: step } }));
    expect((await build('one')).code).toBe(0);
    const second = await build('two');
    expect(second.stdout + second.stderr).toContain('knows: one');
    expect(out()).toBe('twoone');
    const forced = await build('two', '--force');
    expect(forced.stdout + forced.stderr).not.toContain('knows: one');
    expect(out()).toBe('two');
    rmSync(join(shop.workspace, 'out'));
    await build('two');
    expect(out()).toBe('two');
  });

  test.each<[string, Record<string, unknown>, string]>([
    ['that is its output', { build: { ...step, state: ['out/x'] } }, 'overlap: one lies inside the other'],
    ['of another step', { build: step, other: { ...step, outputs: ['o'] } }, 'both claim cache'],
  ])('is refused if it has state %s', async (_name, steps, words) => {
    shop.write('src', 'x');
    shop.write('assay.json', JSON.stringify({ steps }));
    const ran = await shop.assay(['run', 'build']);
    expect(ran.code).not.toBe(0);
    expect(ran.stderr).toContain(words);
  });
});

test('an action of the library can have state', async () => {
  const said: string[] = [];
  const run = (src: string) => {
    shop.write('src', src);
    const action = {
      command: ['sh', 'compile.sh'],
      inputs: ['src', 'compile.sh'],
      outputs: ['out'],
      state: ['cache'],
    };
    const stdout = { write: (bytes: string | Uint8Array) => void said.push(Buffer.from(bytes).toString()) };
    return runWith(async () => stepHook)(
      { ...action, workspace: shop.workspace },
      { store: shop.store, stdout },
    );
  };
  expect(await run('one')).toMatchObject({ published: true });
  expect(await run('two')).toMatchObject({ published: false, status: 'unproven' });
  expect(said.join('')).toBe('knows: \nknows: one\n');
});

test('tsc finds the outputs that belong to its state, and all of them exist afterwards', async () => {
  const tsc = join(import.meta.dirname, '../../../node_modules/typescript/bin/tsc');
  const options = {
    incremental: true,
    tsBuildInfoFile: 'info',
    outDir: 'dist',
    rootDir: 'src',
    types: [],
    lib: ['es2024'],
  };
  shop.write('tsconfig.json', JSON.stringify({ compilerOptions: options, include: ['src'] }));
  for (const name of ['a', 'b']) shop.write(`src/${name}.ts`, `export const ${name}: number = 1;\n`);
  const action = ['--input', 'src', '--input', 'tsconfig.json', '--output', 'dist', '--state', 'info'];
  const build = (...args: string[]) => shop.run([...action, ...args, '--', process.execPath, tsc, '-p', '.']);
  expect((await build()).summary).toMatchObject({ exitCode: 0, published: true });
  shop.write('src/a.ts', 'export const a: number = 2;\n');
  rmSync(join(shop.workspace, 'dist'), { recursive: true });
  const carried = await build();
  expect(carried.summary).toMatchObject({ exitCode: 0, published: false });
  expect(carried.summary.findings).toBeUndefined();
  const incremental = describeTree(join(shop.workspace, 'dist'));
  const clean = await build('--hermetic=strict');
  expect(clean.summary).toMatchObject({ exitCode: 0, published: true });
  expect(incremental).toEqual(describeTree(join(shop.workspace, 'dist')));
  expect(incremental.join()).toContain('b.js');
});
