// A TMPDIR that an action declares is its own, but it need not be empty: what the action finds there counts.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Workshop } from '../../rig/assay.ts';

let shop: Workshop;
let tmp: string;

beforeEach(() => {
  shop = new Workshop();
  tmp = shop.another('tmp');
  shop.write('in', 'in\n');
});

afterEach(() => shop.remove());

const run = (script: string) =>
  shop.run(['--input', 'in', '--output', 'out', '--env', `TMPDIR=${tmp}`, '--', 'sh', '-c', script]);

test('temporary files there are no findings, and their names do not prevent a hit', async () => {
  const script = 'f=$(mktemp); d=$(mktemp -d); cp in "$f"; cp "$f" "$d/x"; cat "$d/x" > out; rm -r "$d"';
  writeFileSync(join(tmp, 'of-another-program'), 'x');
  const first = await run(script);
  expect(first.summary).toMatchObject({ outcome: 'miss', status: 'declared', published: true });
  expect(first.summary.findings).toBeUndefined();
  writeFileSync(join(tmp, 'of-a-third-program'), 'x');
  expect((await run(script)).summary).toMatchObject({ outcome: 'hit-local' });
});

test('a file that lay there before is compared before a hit', async () => {
  const script = 'cat in "$TMPDIR/settings" > out; test ! -e "$TMPDIR/more" || echo more >> out';
  const settings = (text: string) => writeFileSync(join(tmp, 'settings'), text);
  settings('one');
  expect((await run(script)).summary).toMatchObject({ outcome: 'miss', published: true });
  expect((await run(script)).summary).toMatchObject({ outcome: 'hit-local' });
  settings('two');
  expect((await run(script)).summary).toMatchObject({ outcome: 'miss' });
  settings('one');
  expect((await run(script)).summary).toMatchObject({ outcome: 'hit-local' });
  writeFileSync(join(tmp, 'more'), '');
  expect((await run(script)).summary).toMatchObject({ outcome: 'miss' });
});

test('a file that lay there before, was read and then removed, makes the result unproven', async () => {
  writeFileSync(join(tmp, 'queue'), 'job');
  const ran = await run('cat in "$TMPDIR/queue" > out; rm "$TMPDIR/queue"');
  expect(ran.summary).toMatchObject({ outcome: 'miss', status: 'unproven', published: false });
  expect(existsSync(join(tmp, 'queue'))).toBe(false);
});

test('a TMPDIR around the workspace hides nothing of the workspace', async () => {
  tmp = shop.folder;
  mkdirSync(join(shop.folder, 'beside'));
  shop.write('secret', 's');
  const ran = await run('cat in secret > out; echo > stray; mktemp > /dev/null');
  expect(ran.summary.findings?.map(({ kind, path }) => `${kind} ${path}`).sort()).toEqual([
    'read secret',
    'write stray',
  ]);
});
