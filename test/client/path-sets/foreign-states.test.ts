// A path set from a remote: which paths may be checked, and for how long.
import { execFileSync } from 'node:child_process';
import { truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { digestFile, type FileDigests } from '../../../client/files/file-digest.ts';
import { OBSERVED } from '../../../client/limits.ts';
import { ForeignStates } from '../../../client/path-sets/foreign-states.ts';
import { States } from '../../../client/path-sets/states.ts';
import { digestOf, parseHash, toWire } from '../../../core/digest.ts';
import { encodePathSet, type ObservedPath, type PathSet, pathSetAddress } from '../../../core/path-set.ts';
import { ActionResult } from '../../../core/proto/generated/reapi.ts';
import { emptyResult } from '../../../core/result.ts';
import { Workshop } from '../../rig/assay.ts';
import { ServerProcess } from '../../rig/server.ts';

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
});

afterEach(() => shop.remove());

function seen(root: string, path: string, state = 'other'): ObservedPath {
  return { root, path, names: false, state, left: '', without: [] };
}

function foreign(now: () => number = () => 0): ForeignStates {
  const digests: FileDigests = {
    digest: (_, __, locate, onRead) => digestFile(locate(), onRead).digest,
  };
  const request = { workspace: shop.workspace, outputs: [] };
  const environment = [{ name: 'PATH', value: '/srv/tools/bin:/usr/bin' }];
  return new ForeignStates(new States({ request, tools: [], environment }, digests), now);
}

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
  ])('%s', (_, root, path) => {
    expect(() => foreign().check([seen(root, path)])).not.toThrow();
  });

  test.each([
    ['a file of the kernel', '', 'proc/self/pagemap'],
    ['a file of the kernel, relative to the workspace', 'workspace', `${'../'.repeat(3)}proc/self/pagemap`],
    ['a file of the kernel, by an upward search', 'above:workspace', 'proc/self/pagemap'],
    ['a device', '', 'dev/tty'],
    ["another user's home", '', 'home/somebody/.netrc'],
    ["the machine's data", '', 'var/lib/data'],
    ['a path out of the workspace', 'workspace', 'a/../../../x'],
  ])('is never %s', (_, root, path) => {
    expect(() => foreign().check([seen('workspace', 'fine'), seen(root, path)])).toThrow();
  });

  test('is not opened if it is not a regular file or others may not read it', () => {
    execFileSync('mkfifo', [join(shop.workspace, 'fifo')]);
    shop.write('secret', 'x', 0o600, shop.folder);
    shop.write('secret', 'x', 0o600);
    expect(foreign().of(seen('workspace', 'fifo'))).toBe('other');
    expect(foreign().of(seen('workspace', '../secret'))).toBe('unreadable');
    expect(foreign().of(seen('workspace', 'secret'))).toMatch(/^file /);
    expect(foreign().of(seen('workspace', 'secret', 'absent'))).toBe('there');
    expect(foreign().of(seen('workspace', 'nothing', 'absent'))).toBe('absent');
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

  async function plant(key: string, number: number, set: PathSet): Promise<void> {
    const bytes = encodePathSet(set);
    const digest = digestOf(bytes);
    const file = { path: 'path-set', digest: toWire(digest), isExecutable: false, contents: Buffer.alloc(0) };
    const result = ActionResult.encode({ ...emptyResult(0), outputFiles: [file] }).finish();
    for (const [path, body] of [
      [`cas/${digest.hash}`, bytes],
      [`ac/${pathSetAddress(parseHash(key), number).hash}`, result],
    ] as const) {
      const answer = await fetch(`${server.url}/${path}`, { method: 'PUT', body: Buffer.from(body) });
      expect(answer.ok).toBe(true);
    }
  }

  test('a set with a forbidden path is refused, and the next one is used', async () => {
    const first = await shop.run(COMMAND);
    await plant(first.summary.key, 0, [seen('', 'proc/self/pagemap')]);
    const elsewhere = (name: string) => ['--remote', server.url, '--store', join(shop.folder, name)];
    const refused = await shop.run([...elsewhere('one'), ...COMMAND]);
    expect(refused.summary).toMatchObject({ outcome: 'miss', shared: true });
    expect(refused.summary.warnings.join()).toContain('ASSAY_PATH_SET_REFUSED');
    expect(refused.summary.warnings.join()).toContain('/proc/self/pagemap');
    const behind = await shop.run([...elsewhere('two'), ...COMMAND]);
    expect(behind.summary.outcome).toBe('hit-remote');
  });

  test('a set with too many paths is a miss', async () => {
    const first = await shop.run(COMMAND);
    const many = Array.from({ length: OBSERVED.maxForeignPaths + 1 }, (_, at) => seen('workspace', `f${at}`));
    await plant(first.summary.key, 0, many);
    const ran = await shop.run(['--remote', server.url, '--store', join(shop.folder, 'one'), ...COMMAND]);
    expect(ran.summary).toMatchObject({ outcome: 'miss', exitCode: 0 });
    expect(ran.summary.warnings.join()).toContain('too large');
  });
});
