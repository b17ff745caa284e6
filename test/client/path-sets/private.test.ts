// Which results stay on this machine because their command read something private, and what of them reaches a
// server: nothing. HOME decides what the caller's home is.
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { digestOf } from '../../../core/digest.ts';
import { baseEnvironment, type RanWithSummary, Workshop } from '../../rig/assay.ts';
import { ServerProcess } from '../../rig/server.ts';
import { factIs } from '../run/misses.ts';

let shop: Workshop;
let server: ServerProcess;
let home: string;
let stores = 0;

beforeEach(async () => {
  shop = new Workshop();
  home = shop.another('home');
  server = await ServerProcess.start(join(shop.folder, 'served'));
});

afterEach(async () => {
  await server.stop();
  shop.remove();
});

interface On {
  readonly home?: string;
  readonly cwd?: string;
  readonly path?: string;
  readonly store?: string;
}

/** On a machine of its own, unless `store` names one: only the server connects them. */
function run(script: string, on: On = {}, ...flags: string[]): Promise<RanWithSummary> {
  const store = join(shop.folder, on.store ?? `store${stores++}`);
  const path = `${on.path === undefined ? '' : `${on.path}:`}${baseEnvironment().PATH}`;
  return shop.run(
    ['--remote', server.url, '--store', store, ...flags, '--output', 'out', '--', 'sh', '-c', script],
    { env: { HOME: on.home ?? home, PATH: path }, cwd: on.cwd ?? shop.workspace },
  );
}

function put(path: string, content: string, mode = 0o644): string {
  const file = path.startsWith('/') ? path : join(shop.workspace, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  chmodSync(file, mode);
  return file;
}

function git(...args: string[]): void {
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
    cwd: shop.workspace,
    env: baseEnvironment(),
    stdio: 'ignore',
  });
}

/** What the server has: the action, and any text that names the digest of `content`, such as a path set. */
async function isAtServer(
  ran: RanWithSummary,
  content: string,
): Promise<{ action: boolean; digest: boolean }> {
  const { ok } = await fetch(`${server.url}/cas/${ran.summary.key}`);
  const { hash } = digestOf(Buffer.from(content));
  const { status } = spawnSync('grep', ['-raqF', hash, join(shop.folder, 'served')]);
  return { action: ok, digest: status === 0 };
}

const SECRET = 'PASSWORD=hunter2\n';

describe('stays on this machine', () => {
  test.each<[string, () => string]>([
    ['a file that others may not read', () => put(join(shop.folder, 'outside/x'), SECRET, 0o600)],
    [
      'a file in a folder that others may not enter',
      () => {
        const file = put(join(shop.folder, 'outside/closed/x'), SECRET);
        chmodSync(dirname(file), 0o750);
        return file;
      },
    ],
    ['a file below the home', () => put(join(home, '.config/x'), SECRET)],
    ['~/.netrc', () => put(join(home, '.netrc'), SECRET, 0o600)],
    ['.env', () => put('.env', SECRET)],
    ['an untracked .env in a repository', () => put('conf/.env.local', SECRET)],
    ['an untracked file of the workspace that others may not read', () => put('x', SECRET, 0o600)],
    ['a file of the workspace that others may not read, without git', () => put('x', SECRET, 0o640)],
    ['a private key', () => put('server.key', SECRET)],
    ['a secret that a container engine mounts', () => put(join(shop.folder, 'outside/.ssh/config'), SECRET)],
    [
      'a link of the workspace into the home',
      () => {
        symlinkSync(put(join(home, 'conf/x'), SECRET), join(shop.workspace, 'x'));
        return 'x';
      },
    ],
    [
      'a linked folder of the workspace',
      () => {
        symlinkSync(dirname(put(join(home, 'conf/x'), SECRET)), join(shop.workspace, 'conf'));
        return 'conf/x';
      },
    ],
    [
      'a tracked .env that was changed',
      () => {
        put('.env', 'PASSWORD=\n');
        git('init');
        git('add', '.');
        git('update-index', '--assume-unchanged', '.env');
        return put('.env', SECRET);
      },
    ],
    ['a user’s file beside a tool in ~/.local', () => put(join(home, '.local/share/keys/x'), SECRET)],
    [
      'a password in .git/config',
      () => {
        git('init');
        writeFileSync(join(shop.workspace, '.git/config'), SECRET);
        return '.git/config';
      },
    ],
    ['cargo’s credentials', () => put(join(home, '.cargo/credentials.toml'), SECRET)],
  ])('%s', async (name, make) => {
    if (name.includes('untracked')) git('init');
    const ran = await run(`cat ${make()} > out`);
    expect(ran.summary).toMatchObject({ outcome: 'miss', published: true, shared: false });
    expect(ran.summary.warnings.join('\n')).toMatch(
      /the result stays on this machine: its command read \S+, which may be private/,
    );
    expect(await isAtServer(ran, SECRET)).toEqual({ action: false, digest: false });
  });

  test('the names in a closed folder, and in a folder below the home', async () => {
    chmodSync(dirname(put(join(shop.folder, 'outside/closed/x'), '')), 0o700);
    put(join(home, 'conf/x'), '');
    for (const folder of [join(shop.folder, 'outside/closed'), join(home, 'conf'), home]) {
      const ran = await run(`ls ${folder} > out`);
      expect(ran.summary).toMatchObject({ published: true, shared: false });
      expect(ran.summary.warnings.join('\n')).toMatch(/its command listed \S+, which may be private/);
      expect(await isAtServer(ran, 'x')).toMatchObject({ action: false });
    }
  });

  test('it is a hit here, and says why it is not shared in one line', async () => {
    put(join(home, '.config/tool/x'), SECRET);
    const script = `cat ${home}/.config/tool/x > out`;
    const ran = await shop.assay(
      ['run', '--remote', server.url, '--output', 'out', '--', 'sh', '-c', script],
      {
        env: { HOME: home },
      },
    );
    const told = ran.stderr.split('\n').filter((line) => line.includes('private'));
    expect(told).toEqual([
      'assay: the result stays on this machine: its command read ~/.config/tool/x, which may be private',
    ]);
    expect(ran.stderr).not.toContain('hunter2');
    const again = await shop.run(['--remote', server.url, '--output', 'out', '--', 'sh', '-c', script], {
      env: { HOME: home },
    });
    expect(again.summary.outcome).toBe('hit-local');
  });

  test('an unwatched run does not share the path set of an earlier one', async () => {
    const file = put(join(home, 'x'), 'first');
    const script = `cat ${file} > out`;
    await run(script, { store: 'one' });
    put(file, SECRET);
    const ran = await run(script, { store: 'one' }, '--hermetic=off');
    expect(ran.summary).toMatchObject({
      outcome: 'miss',
      status: 'unwatched',
      published: true,
      shared: false,
    });
    expect(await isAtServer(ran, SECRET)).toEqual({ action: false, digest: false });
  });

  test('no report of a miss tells what a file was that changed or is gone', async () => {
    const file = put(join(home, 'x'), SECRET);
    const script = `cat ${file} > out; echo 1 >> out`;
    const first = await run(script, { store: 'one' });
    put(file, 'second');
    const changed = await run(script, { store: 'one' });
    expect(changed.summary.reason).toContain(factIs('x', 'changed'));
    rmSync(file);
    const gone = await run(script, { store: 'one' });
    expect(gone.summary.reason).toContain(factIs('x', 'gone'));
    for (const content of [SECRET, 'second'])
      expect(await isAtServer(first, content)).toMatchObject({ digest: false });
  });

  test('settings of a home that is the workspace, or lies in it', async () => {
    put('.config/x', SECRET);
    put('src/x', 'x');
    put('inner/x', SECRET);
    expect((await run('cat .config/x > out', { home: shop.workspace })).summary).toMatchObject({
      shared: false,
    });
    expect((await run('cat src/x > out', { home: shop.workspace })).summary).toMatchObject({ shared: true });
    const inner = { home: join(shop.workspace, 'inner') };
    expect((await run('cat inner/x > out', inner)).summary).toMatchObject({ shared: false });
  });

  test('with observed inputs too', async () => {
    put('.env', SECRET);
    const ran = await run('cat .env > out', {}, '--inputs=observed');
    expect(ran.summary).toMatchObject({ published: true, shared: false });
  });
});

describe('is shared', () => {
  async function expectShared(script: string, content: string, on: On = {}): Promise<RanWithSummary> {
    const ran = await run(script, on);
    expect(ran.summary).toMatchObject({ outcome: 'miss', shared: true });
    expect(await isAtServer(ran, content)).toEqual({ action: true, digest: true });
    expect((await run(script, on)).summary.outcome).toBe('hit-remote');
    return ran;
  }

  test('a checkout that was made with umask 077', async () => {
    put('src/main.c', 'int main;\n', 0o600);
    put('.env', 'MODE=test\n', 0o600);
    chmodSync(join(shop.workspace, 'src'), 0o700);
    git('init');
    git('add', '.');
    put('node_modules/x/index.js', 'x', 0o600);
    chmodSync(join(shop.workspace, 'node_modules'), 0o700);
    execFileSync('chmod', ['-R', 'go=', join(shop.workspace, '.git')]);
    await expectShared(
      'cat src/main.c .env node_modules/x/index.js .git/HEAD .git/config > out; ls src',
      'MODE=test\n',
    );
  });

  test('a declared secret, as before', async () => {
    put('.env', SECRET, 0o600);
    const ran = await run('cat .env > out', {}, '--input', '.env');
    expect(ran.summary).toMatchObject({ shared: true });
  });

  test('a readable file beside the workspace', async () => {
    await expectShared(`cat ${put(join(shop.folder, 'outside/x'), 'x')} > out`, 'x');
  });

  test('that something below the home is missing or there', async () => {
    put(join(home, 'conf/x'), SECRET);
    const script = `test -e ${home}/.netrc || test -d ${home}/conf && echo 1 > out`;
    const ran = await run(script);
    expect(ran.summary).toMatchObject({ shared: true });
    expect((await run(script)).summary.outcome).toBe('hit-remote');
    put(join(home, '.netrc'), SECRET);
    expect((await run(script)).summary.outcome).toBe('miss');
  });

  test('tracked files of the project around the workspace, below the home', async () => {
    const project = join(home, 'project');
    put(join(project, 'base.json'), '{}', 0o600);
    put(join(project, 'notes.txt'), SECRET);
    put(join(project, 'node_modules/x/index.js'), 'x');
    const inProject = (...args: string[]) =>
      execFileSync('git', args, { cwd: project, env: baseEnvironment(), stdio: 'ignore' });
    inProject('init');
    inProject('add', 'base.json');
    const cwd = join(project, 'packages/a');
    mkdirSync(cwd, { recursive: true });
    await expectShared(
      'cat ../../base.json ../../node_modules/x/index.js ../../.git/HEAD > out; ls ../../node_modules',
      '{}',
      { cwd },
    );
    expect((await run('cat ../../notes.txt > out', { cwd })).summary).toMatchObject({ shared: false });
  });
});

describe('software that is installed below a home', () => {
  /** A proxy in ~/.cargo/bin starts the toolchain in ~/.rustup, as rustup's does. */
  function install(at: string, version: string): string {
    const proxy = [
      '#!/bin/sh',
      'home=$(dirname "$(dirname "$(dirname "$(readlink -f "$0")")")")',
      'exec "$home/.rustup/toolchains/stable/bin/toolc" "$@"',
    ];
    put(join(at, '.cargo/bin/toolc'), `${proxy.join('\n')}\n`, 0o755);
    const toolchain = join(at, '.rustup/toolchains/stable');
    const program = ['#!/bin/sh', 'cat "$(dirname "$(dirname "$(readlink -f "$0")")")/lib/std" "$@"'];
    put(join(toolchain, 'bin/toolc'), `${program.join('\n')}\n`, 0o755);
    put(join(toolchain, 'lib/std'), version);
    return join(at, '.cargo/bin');
  }

  const SCRIPT = 'toolc in > out';
  const flags = ['--input', 'in', '--tool', 'toolc'];

  test('means the same below another home, and is no finding', async () => {
    put('in', 'in');
    const other = shop.another('elsewhere');
    chmodSync(home, 0o700);
    const first = await run(SCRIPT, { path: install(home, '1.0') }, ...flags);
    expect(first.summary).toMatchObject({ outcome: 'miss', status: 'declared', shared: true });
    const at = { home: other, path: install(other, '1.0') };
    expect((await run(SCRIPT, at, ...flags)).summary).toMatchObject({ outcome: 'hit-remote' });
    put(join(other, '.rustup/toolchains/stable/lib/std'), '1.1');
    expect((await run(SCRIPT, at, ...flags)).summary).toMatchObject({ outcome: 'miss', shared: true });
  });

  test('a search up from it means the same too, whatever else the home has', async () => {
    put('in', 'in');
    const search = [
      '#!/bin/sh',
      'at=$(dirname "$(readlink -f "$0")")',
      'while test "$at" != /; do',
      'test -e "$at/toolrc" && cat "$at/toolrc"; test -e "$at/.cargo/config"; at=$(dirname "$at"); done',
      'test -e /toolrc || test -e /.cargo/config || cat "$@"',
    ];
    const other = shop.another('elsewhere');
    const [first, second] = [home, other].map((at) => {
      const path = install(at, '1.0');
      put(join(at, '.rustup/toolchains/stable/bin/toolc'), `${search.join('\n')}\n`, 0o755);
      return { home: at, path };
    });
    mkdirSync(join(home, '.bun'));
    expect((await run(SCRIPT, first, ...flags)).summary).toMatchObject({ outcome: 'miss', shared: true });
    expect((await run(SCRIPT, second, ...flags)).summary).toMatchObject({ outcome: 'hit-remote' });
    put(join(other, 'toolrc'), 'x');
    expect((await run(SCRIPT, second, ...flags)).summary).toMatchObject({ outcome: 'miss', shared: false });
  });

  test('another version is a miss that names the file', async () => {
    put('in', 'in');
    const on = { path: install(home, '1.0'), store: 'one' };
    await run(SCRIPT, on, ...flags);
    install(home, '1.1');
    const ran = await run(SCRIPT, on, ...flags);
    expect(ran.summary.outcome).toBe('miss');
    expect(ran.summary.reason).toContain('.rustup/toolchains/stable/lib/std changed');
  });

  test('is shared if its user lets nobody read anything', async () => {
    put('in', 'in');
    const path = install(home, '1.0');
    execFileSync('chmod', ['-R', 'go=', home]);
    expect((await run(SCRIPT, { path }, ...flags)).summary).toMatchObject({ shared: true });
  });

  test('a tool in a closed folder that is no home is shared, with its library', async () => {
    const tools = join(shop.folder, 'tools');
    put(join(tools, 'x/lib/data'), '1.0');
    put(
      join(tools, 'x/bin/mine'),
      '#!/bin/sh\ncat "$(dirname "$(dirname "$(readlink -f "$0")")")/lib/data"\n',
      0o755,
    );
    chmodSync(tools, 0o700);
    const ran = await run('mine > out', { path: join(tools, 'x/bin') }, '--tool', 'mine');
    expect(ran.summary).toMatchObject({ status: 'declared', shared: true });
  });

  test('a file in it that only its user may read is private', async () => {
    put('in', 'in');
    const path = install(home, '1.0');
    put(join(home, '.rustup/toolchains/stable/lib/std'), SECRET, 0o600);
    const ran = await run(SCRIPT, { path }, ...flags);
    expect(ran.summary).toMatchObject({ shared: false });
    expect(await isAtServer(ran, SECRET)).toEqual({ action: false, digest: false });
  });

  test('a program in ~/bin, or behind a link, is no installation: the home around it stays private', async () => {
    put('in', 'in');
    const bin = join(home, 'bin');
    put(join(home, 'tools/mine'), '#!/bin/sh\ncat "$@"\n', 0o755);
    mkdirSync(bin);
    symlinkSync('../tools/mine', join(bin, 'mine'));
    put(join(home, 'private/x'), SECRET);
    const ran = await run(`mine ${home}/private/x > out`, { path: bin }, '--tool', 'mine');
    expect(ran.summary).toMatchObject({ published: true, shared: false });
    expect(await isAtServer(ran, SECRET)).toEqual({ action: false, digest: false });
    expect((await run('mine in > out', { path: bin }, '--tool', 'mine')).summary).toMatchObject({
      shared: true,
    });
  });

  test('Python of pyenv, and a virtual environment made from it', async () => {
    const version = '.pyenv/versions/3.11.7';
    const standIn = (at: string) => {
      mkdirSync(join(at, version, 'bin'), { recursive: true });
      put(
        join(at, version, 'bin/python3.11'),
        '#!/bin/sh\ncat "$(dirname "$(dirname "$(readlink -f "$0")")")/lib/os.py"\n',
        0o755,
      );
      put(join(at, version, 'lib/os.py'), 'import\n');
    };
    standIn(home);
    put('.venv/pyvenv.cfg', 'home = x\n');
    mkdirSync(join(shop.workspace, '.venv/bin'));
    symlinkSync(join(home, version, 'bin/python3.11'), join(shop.workspace, '.venv/bin/python'));
    const ran = await run('.venv/bin/python > out');
    expect(ran.summary).toMatchObject({ outcome: 'miss', shared: true });
    expect((await run('.venv/bin/python > out')).summary.outcome).toBe('hit-remote');
    put(join(home, version, 'lib/os.py'), 'import other\n');
    expect((await run('.venv/bin/python > out')).summary.outcome).toBe('miss');
    renameSync(join(home, '.pyenv'), join(home, 'not-pyenv'));
    expect((await run(`cat ${home}/not-pyenv/versions/3.11.7/lib/os.py > out`)).summary).toMatchObject({
      shared: false,
    });
  });
});
