// The client folder is private to the user, whatever the umask and whatever was there before.
import { chmodSync, chownSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { clientFolder } from '../../../client/local-store/client-folder.ts';
import { Workshop } from '../../rig/assay.ts';

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
  shop.write('in.txt', 'input');
});
afterEach(() => shop.remove());

const modesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).map((entry) => {
    const mode = statSync(join(entry.parentPath, entry.name)).mode & 0o777;
    return `${entry.isDirectory() ? 'folder' : 'file'} ${mode.toString(8)}`;
  });

test.each(['000', '022', '077'])('the client folder is private with the umask %s', async (umask) => {
  shop.write(
    'assay.json',
    JSON.stringify({ steps: { a: { command: 'cp in.txt out', inputs: ['in.txt'], outputs: ['out'] } } }),
  );
  const asked = ['sh', '-c', `umask ${umask} && exec "$@"`, 'sh'];
  for (const args of [
    ['run', 'a'],
    ['run', '--output', 'x', '--', 'sh', '-c', 'echo > x'],
  ])
    expect((await shop.assayIn(asked, args)).code).toBe(0);
  const own = join(shop.store, 'client');
  expect(statSync(own).mode & 0o777).toBe(0o700);
  expect(new Set(modesBelow(own))).toEqual(new Set(['folder 700', 'file 600']));
});

test('a folder that others could read is made private, one that they could write is deleted', () => {
  const own = join(shop.another('store'), 'client');
  shop.write('store/client/history.jsonl', 'mine', 0o644, shop.folder);
  chmodSync(own, 0o755);
  expect(clientFolder(join(shop.folder, 'store'))).toBe(own);
  expect([statSync(own).mode & 0o777, readdirSync(own)]).toEqual([0o700, ['history.jsonl']]);
  const open = join(shop.another('open'), 'client');
  shop.write('open/client/history.jsonl', 'planted', 0o644, shop.folder);
  chmodSync(open, 0o777);
  expect(clientFolder(join(shop.folder, 'open'))).toBe(open);
  expect(() => statSync(open)).toThrow('ENOENT');
});

test('a folder of another user, and a link, are not used', () => {
  const user = process.getuid?.();
  const [theirs, linked] = [shop.another('theirs'), shop.another('linked')];
  chownSync(join(shop.write('theirs/client/x', '', 0o644, shop.folder), '..'), 65_534, 65_534);
  symlinkSync(theirs, join(linked, 'client'));
  writeFileSync(join(linked, 'x'), '');
  expect([theirs, linked].map(clientFolder)).toEqual(
    [theirs, linked].map((store) => join(store, `client-${user}`)),
  );
  expect(readdirSync(join(theirs, 'client'))).toEqual(['x']);
});

test.each([
  ['a command', ['--output', 'x', '--', 'sh', '-c', 'echo > x']],
  ['a step', ['a']],
])('a store in /proc, where no folder can be made, neither hangs nor fails %s', async (_, args) => {
  const step = { command: 'cp in.txt out', inputs: ['in.txt'], outputs: ['out'] };
  shop.write('assay.json', JSON.stringify({ steps: { a: step } }));
  const ran = await shop.assay(['run', '--store', '/proc/assay-none', ...args]);
  expect(ran.code).toBe(0);
  expect(ran.stderr).toContain('the local store is not usable');
});
