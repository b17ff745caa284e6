// A path set from a remote: which paths may be checked, and for how long.
import { execFileSync } from 'node:child_process';
import { truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { digestFile, type FileDigests } from '../../../client/files/file-digest.ts';
import { OBSERVED } from '../../../client/limits.ts';
import { ForeignStates } from '../../../client/path-sets/foreign-states.ts';
import { States } from '../../../client/path-sets/states.ts';
import { SystemFileMemo } from '../../../client/path-sets/system-file-memo.ts';
import { digestOf } from '../../../core/digest.ts';
import { ROOT } from '../../../core/path.ts';
import { encodePathSet, type ObservedPath, type PathSet } from '../../../core/path-set.ts';
import { Workshop } from '../../rig/assay.ts';
import { ServerProcess } from '../../rig/server.ts';

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
});

afterEach(() => shop.remove());

function seen(root: string, path: string, state = 'other'): ObservedPath {
  return { root, path, names: false, state, left: '', without: [], lens: '', shown: [], note: '' };
}

const read: string[] = [];

function foreign(now: () => number = () => 0, systemFiles?: SystemFileMemo): ForeignStates {
  const digests: FileDigests = {
    digest: (path, _, locate, onRead) => {
      read.push(path);
      return digestFile(locate(), onRead).digest;
    },
  };
  const request = {
    workspace: shop.workspace,
    workingDirectory: ROOT,
    command: ['true'] as const,
    outputs: [],
  };
  const environment = [{ name: 'PATH', value: '/srv/tools/bin:/usr/bin' }];
  return new ForeignStates(
    new States({ request, tools: [], environment }, digests, systemFiles),
    now,
    systemFiles,
  );
}

/** The same for a user with this home. */
function atHome(home: string): ForeignStates {
  const before = process.env.HOME;
  process.env.HOME = home;
  try {
    const states = foreign();
    states.check([seen('home:.nvm', 'x')]);
    return states;
  } finally {
    process.env.HOME = before;
  }
}

describe('the lookups of one graph run', () => {
  const readBy = (systemFiles: SystemFileMemo, ...facts: ObservedPath[]) => {
    read.length = 0;
    const states = facts.map((fact) => foreign(undefined, systemFiles).of(fact));
    return { states, read: [...read] };
  };

  test('read a file of the system once, until a command has run', () => {
    const memo = new SystemFileMemo(Date.now);
    const env = seen('', 'usr/bin/env');
    const first = readBy(memo, env, env);
    expect(first.read).toEqual(['/usr/bin/env']);
    expect(first.states[0]).toMatch(/^program [0-9a-f]{64}$/);
    expect(first.states[1]).toBe(first.states[0]);
    memo.forget();
    expect(readBy(memo, env)).toEqual({ states: [first.states[0]], read: ['/usr/bin/env'] });
  });

  test('ask for existence and for content separately', () => {
    const memo = new SystemFileMemo(Date.now);
    const { states } = readBy(memo, seen('', 'usr/bin/env', 'absent'), seen('', 'usr/bin/env'));
    expect(states).toEqual(['there', expect.stringMatching(/^program /)]);
  });

  test('read what a restored output or another tool may change each time', () => {
    shop.write('src/main.c', 'int main;');
    const memo = new SystemFileMemo(Date.now);
    const main = seen('workspace', 'src/main.c');
    const linked = seen('', `${shop.workspace.slice(1)}/src/main.c`);
    const path = join(shop.workspace, 'src/main.c');
    expect(readBy(memo, main, main, linked, linked).read).toEqual([path, path, path, path]);
  });

  test('refuse a path each time', () => {
    const memo = new SystemFileMemo(Date.now);
    const wallet = seen('', 'var/lib/wallet');
    for (let round = 0; round < 2; round++) {
      expect(() => foreign(undefined, memo).check([wallet])).toThrow();
      expect(() => foreign(undefined, memo).of(wallet)).toThrow();
    }
  });
});

describe('a path that is checked for a remote', () => {
  test.each([
    ['may be in the workspace', 'workspace', 'src/main.c'],
    ['may be a file above it', 'workspace', '../conf'],
    ['may be a name in an upward search', 'above:workspace', 'node_modules/x'],
    ['may be directly below the root', '', 'WORK'],
    ['may be installed software', '', 'usr/include/stdio.h'],
    ["may be the system's settings", '', 'etc/ld.so.cache'],
    ['may be in a folder of PATH', '', 'srv/tools/bin/cc'],
    ['may be in a tool that this action does not use', 'tool:x', 'lib/x'],
    ["may be a library in the loader's cache", 'ld.so.cache', 'libz.so.1'],
    ['may be a property of the machine', 'machine', 'cpu'],
    ['may be a property that this version does not know', 'machine', 'flux'],
    ['may be a kernel file that is compared', 'machine', '/proc/cpuinfo'],
    ['may be a listed kernel folder that is compared', 'machine', '/sys/class/net/'],
    ['may be a pattern in the workspace', 'like:workspace', 'tmp.*'],
    ['may be a pattern in a folder of the workspace', 'like:workspace', 'src/tmp.*'],
    ['may be a pattern in a temporary folder', 'like:', 'var/tmp/x.*'],
    ['may be a pattern in installed software', 'like:', 'usr/lib/tmp.*'],
  ])('%s', (_, root, path) => {
    expect(() => foreign().check([seen(root, path)])).not.toThrow();
  });

  test('may be anywhere, if nothing was there: only its existence is told', () => {
    expect(foreign().of(seen('', 'var/ssl', 'absent'))).toBe('absent');
    expect(foreign().of(seen('', 'var/lib', 'absent'))).toBe('there');
    expect(() => foreign().of(seen('', 'proc/self/pagemap', 'absent'))).toThrow();
    expect(() => foreign().of(seen('like:', 'var/lib/x*', 'absent'))).toThrow();
  });

  test.each([
    ['a file of the kernel', '', 'proc/self/pagemap'],
    ['a file of the kernel, relative to the workspace', 'workspace', `${'../'.repeat(3)}proc/self/pagemap`],
    ['a file of the kernel, by an upward search', 'above:workspace', 'proc/self/pagemap'],
    ['a device', '', 'dev/tty'],
    ['a pattern in a home', 'like:', 'home/somebody/.ssh/id_*'],
    ['a pattern among other data', 'like:', 'var/lib/x.*'],
    ['a pattern below a temporary folder', 'like:', 'var/tmp/somebody/x.*'],
    ['a pattern in the kernel', 'like:', 'proc/1*'],
    ['a pattern of patterns', `${'like:'.repeat(50)}workspace`, 'tmp.*'],
    ["another user's home", '', 'home/somebody/.netrc'],
    ["the machine's data", '', 'var/lib/data'],
    ['a path out of the workspace', 'workspace', 'a/../../../x'],
    ['a kernel file that is not compared', 'machine', '/proc/kmsg'],
    ["a process's own kernel file", 'machine', '/proc/self/environ'],
    ['another file by the name of a property', 'machine', '/etc/shadow'],
    ['a path that leaves the kernel files', 'machine', '/proc/sys/../../etc/shadow'],
    ['a link to a device', 'machine', '/sys/class/net/eth0/device/config'],
  ])('is never %s', (_, root, path) => {
    expect(() => foreign().check([seen('workspace', 'fine'), seen(root, path)])).toThrow();
  });

  test('is not opened if it is not a regular file or others may not read it', () => {
    execFileSync('mkfifo', [join(shop.workspace, 'fifo')]);
    shop.write('secret', 'x', 0o600, shop.folder);
    shop.write('secret', 'x', 0o600);
    expect(foreign().of(seen('workspace', 'fifo'))).toBe('other');
    expect(foreign().of(seen('workspace', '../secret'))).toBe('unreadable');
    expect(foreign().of(seen('workspace', 'secret'))).toBe('unreadable');
    expect(foreign().of(seen('workspace', 'secret', 'absent'))).toBe('there');
    expect(foreign().of(seen('workspace', 'nothing', 'absent'))).toBe('absent');
  });

  test('is no pattern of names in a home above the workspace, but may be one elsewhere above it', () => {
    const pattern = seen('like:above:workspace', '.ssh/id_*', 'absent');
    expect(() => foreign().check([pattern])).not.toThrow();
    shop.write('.ssh/id_rsa', '', 0o644, shop.folder);
    expect(() => atHome(shop.folder).check([pattern])).toThrow('ASSAY_PATH_SET_REFUSED');
  });

  test('is never reached through a link into a place that is not allowed', () => {
    shop.write('kept/x', 'x', 0o644, shop.folder);
    shop.write('home/conf', 'x', 0o644, shop.folder);
    shop.link('inside', 'src');
    shop.write('src/main.c', 'x');
    shop.link('beside', '../kept');
    shop.link('home', '../home');
    shop.link('kernel', '/proc/self');
    const states = atHome(join(shop.folder, 'home'));
    expect(states.of(seen('workspace', 'inside/main.c'))).toMatch(/^file /);
    expect(states.of(seen('workspace', 'beside/x'))).toMatch(/^file /);
    expect(() => states.of(seen('workspace', 'home/conf'))).toThrow('ASSAY_PATH_SET_REFUSED');
    expect(() => states.of(seen('workspace', 'kernel/environ'))).toThrow('ASSAY_PATH_SET_REFUSED');
  });

  test('below the home is installed software, or recorded as absent', () => {
    for (const path of ['.nvm/versions/x', '.cargo/bin/x', '.cargo/credentials.toml', '.netrc', 'bin/x'])
      shop.write(path, 'x', 0o644, join(shop.folder, 'home'));
    const states = atHome(join(shop.folder, 'home'));
    const home = join(shop.folder, 'home').slice(1);
    expect(states.of(seen('home:.nvm', 'versions/x'))).toMatch(/^file /);
    expect(states.of(seen('', `${home}/.cargo/bin/x`))).toMatch(/^file /);
    expect(states.of(seen('home:.rustup', 'toolchains/x'))).toBe('no such root');
    expect(states.of(seen('', `${home}/.netrc`, 'absent'))).toBe('there');
    expect(states.of(seen('', `${home}/.netrc`, 'folder'))).toBe('unreadable');
    expect(states.of(seen('', `${home}/bin`, 'folder'))).toBe('folder');
    for (const refused of [
      seen('', `${home}/.netrc`),
      seen('workspace', '../home/.netrc'),
      seen('home:.nvm', '../.netrc'),
      seen('home:.cargo/bin', '../credentials.toml'),
      seen('', `${home}/bin/x`),
      { ...seen('', home), names: true },
    ])
      expect(() => states.of(refused)).toThrow('ASSAY_PATH_SET_REFUSED');
  });

  test('is not read for longer than a lookup may take', () => {
    const file = shop.write('large', '');
    truncateSync(file, 2 ** 40);
    let time = 0;
    const slow = foreign(() => (time += OBSERVED.foreignLookMs / 20));
    expect(() => slow.of(seen('workspace', 'large'))).toThrow('takes too long');
    expect(() => slow.of(seen('workspace', 'other'))).toThrow('takes too long');
  });
});

describe('through a server', () => {
  const COMMAND = ['--input', 'in', '--output', 'out', '--', 'cp', 'in', 'out'];
  let server: ServerProcess;

  beforeEach(async () => {
    server = await ServerProcess.start(join(shop.folder, 'served'));
    shop.write('in', '1');
  });

  afterEach(() => server.stop());

  /** Makes it the first of the list. */
  async function plant(key: string, set: PathSet): Promise<void> {
    const bytes = encodePathSet(set);
    const { hash } = digestOf(bytes);
    for (const [path, body] of [
      [`cas/${hash}`, bytes],
      [`path-sets/v1/${key}?set=${hash}`, ''],
    ] as const) {
      const answer = await fetch(`${server.url}/${path}`, { method: 'PUT', body: Buffer.from(body) });
      expect(answer.ok).toBe(true);
    }
  }

  test('a set with a forbidden path is refused, and the next one is used', async () => {
    const first = await shop.run(COMMAND);
    const forbidden = [seen('', 'proc/self/pagemap')];
    await plant(first.summary.key, forbidden);
    const elsewhere = (name: string) => ['--remote', server.url, '--store', join(shop.folder, name)];
    const refused = await shop.run([...elsewhere('one'), ...COMMAND]);
    expect(refused.summary).toMatchObject({ outcome: 'miss', shared: true });
    expect(refused.summary.warnings.join()).toContain('ASSAY_PATH_SET_REFUSED');
    expect(refused.summary.warnings.join()).toContain('/proc/self/pagemap');
    await plant(first.summary.key, forbidden);
    const behind = await shop.run([...elsewhere('two'), ...COMMAND]);
    expect(behind.summary.outcome).toBe('hit-remote');
  });

  test('a set with too many paths is a miss', async () => {
    const first = await shop.run(COMMAND);
    const many = Array.from({ length: OBSERVED.maxForeignPaths + 1 }, (_, at) => seen('workspace', `f${at}`));
    await plant(first.summary.key, many);
    const ran = await shop.run(['--remote', server.url, '--store', join(shop.folder, 'one'), ...COMMAND]);
    expect(ran.summary).toMatchObject({ outcome: 'miss', exitCode: 0 });
    expect(ran.summary.warnings.join()).toContain('too large');
  });
});
