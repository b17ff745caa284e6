// On a machine that lacks something the command still runs, without the store or unwatched, and Assay reports
// it.
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DEFAULT_FORM, type Form, Workshop } from '../../rig/assay.ts';
import { inNamespaces } from '../../rig/users.ts';

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
  shop.write('in.txt', 'input');
});
afterEach(() => shop.remove());

const ACTION = [
  'run',
  '--input',
  'in.txt',
  '--output',
  'out',
  '--',
  'sh',
  '-c',
  'cat in.txt > out; echo "$TMPDIR"',
];
const FORMS: readonly Form[] = ['source', 'executable'];

/** A shell that makes the preparation and then executes the program. */
const prepared = (script: string) => [...inNamespaces('--mount'), 'sh', '-c', `${script}; exec "$@"`, 'sh'];

test.each([
  ['is missing', 'true'],
  [
    'is full',
    'mkdir "$TMPDIR" && mount -t tmpfs -o size=4k,nr_inodes=16 tmpfs "$TMPDIR"; cat /dev/zero > "$TMPDIR/x" 2>&-',
  ],
  ['is read-only', 'mkdir "$TMPDIR" && mount -t tmpfs -o ro tmpfs "$TMPDIR"'],
  ['is mounted noexec', 'mkdir "$TMPDIR" && mount -t tmpfs -o noexec tmpfs "$TMPDIR"'],
])('a TMPDIR that %s does no harm', async (_name, prepare) => {
  const env = { TMPDIR: join(shop.folder, 'temporary') };
  const ran = await shop.assayIn(prepared(prepare), ACTION, { form: 'executable', env });
  expect(ran.stderr).toContain('published (local)');
  expect(ran.code).toBe(0);
});

describe.each(FORMS)('%s', (form) => {
  test('with a limit on address space the command runs without the store', async () => {
    const ran = await shop.assayIn(prepared('ulimit -v 8388608'), ACTION, { form });
    expect(ran.stderr).toMatch(/running without it: ASSAY_ADDRESS_SPACE: the index maps [\d.]+ GiB/);
    expect([ran.code, readFileSync(join(shop.workspace, 'out'), 'utf8')]).toEqual([0, 'input']);
  });

  test('in a workspace whose path is not UTF-8 the command runs unwatched', async () => {
    const steps = { a: { command: 'cat in.txt > out', inputs: ['in.txt'], outputs: ['out'] } };
    const odd = Buffer.concat([Buffer.from(`${shop.workspace}/`), Buffer.from([0x77, 0xff])]);
    mkdirSync(odd);
    const enter = 'cd "$(printf "w\\377")" && cp ../in.txt .';
    const config = `printf '%s' '${JSON.stringify({ steps })}' > assay.json`;
    const ran = await shop.assayIn(prepared(enter), ACTION, { form });
    expect(ran.stderr).toContain('the command runs unwatched: the path of the workspace is not UTF-8. ');
    expect(ran.stderr).toContain('not published: nobody watched it: the path of the workspace is not UTF-8');
    const step = await shop.assayIn(prepared(`${enter}; ${config}`), ['run', 'a'], { form });
    expect([ran.code, step.code]).toEqual([0, 0]);
    expect((await shop.assayIn(prepared(enter), ['clean'], { form })).code).toBe(0);
    const strict = [ACTION[0] ?? '', '--hermetic=strict', ...ACTION.slice(1, -1), 'cat in.txt > out; true'];
    expect((await shop.assayIn(prepared(enter), strict, { form })).code).toBe(125);
  });

  test('a folder whose name is how text shows that path is another one, and so are its programs', async () => {
    const build = (folder: string, text: string) =>
      `mkdir "${folder}" && printf '#!/bin/sh\\necho ${text} > out\\n' > "${folder}/build" && chmod +x "${folder}/build"`;
    const odd = '$(printf "w\\377")';
    const enter = `${build(odd, 'odd')}; ${build('w\ufffd', 'even')}; cd "${odd}"`;
    const run = ['run', '--keep-unproven=local', '--output', 'out', '--', './build'];
    const ran = await shop.assayIn(prepared(enter), run, { form });
    expect(ran.stderr).toContain('published (local), unwatched');
    const read = await shop.assayIn(prepared(`cd "${odd}" && cat out >&2`), ['stats'], { form });
    expect([ran.code, read.code, read.stderr]).toEqual([0, 0, 'odd\n']);
    const other = prepared('cd "w\ufffd"');
    const even = await shop.assayIn(other, ['run', '--output', 'out', '--', './build'], { form });
    expect([even.code, readFileSync(join(shop.workspace, 'w\ufffd', 'out'), 'utf8')]).toEqual([0, 'even\n']);
    for (const command of [['audit', '--output', 'out', '--', './build'], ['init'], ['explain']]) {
      const told = await shop.assayIn(prepared(`cd "${odd}"`), command, { form });
      expect([command[0], told.stderr]).toEqual([command[0], expect.not.stringContaining('ASSAY_INTERNAL')]);
    }
  });
});

test('without /proc Node runs the command, without the store', async () => {
  const ran = await shop.assayIn(prepared('mount -t tmpfs tmpfs /proc'), ACTION, { form: DEFAULT_FORM });
  expect(ran.stderr).toContain('the local store is not usable, running without it');
  expect([ran.code, readFileSync(join(shop.workspace, 'out'), 'utf8')]).toEqual([0, 'input']);
});
