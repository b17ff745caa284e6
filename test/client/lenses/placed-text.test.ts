// A text that an installer wrote counts without the path of its own workspace, and of no other.
import { lstatSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { mayBePlaced, placedState } from '../../../client/lenses/placed-text.ts';
import { digestOf } from '../../../core/digest.ts';
import { absPath } from '../../../system/paths/absolute-path.ts';

let folder: string;
let one: string;
let two: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-placed-'));
  one = join(folder, 'a');
  two = join(folder, 'deeper/clone');
});

afterEach(() => rmSync(folder, { recursive: true }));

const SITE = '.venv/lib/python3.11/site-packages';

/** The state of a file with this text, in a clone with an environment. */
function state(clone: string, name: string, text: string, mode = 0o644): string | undefined {
  write(clone, '.venv/pyvenv.cfg', `home = /usr/bin\ncommand = python3 -m venv ${clone}/.venv\n`);
  const file = write(clone, name, text, mode);
  if (!mayBePlaced(absPath(clone), absPath(file))) return 'by its bytes';
  return placedState(absPath(clone), absPath(file), lstatSync(file));
}

function write(clone: string, name: string, text: string, mode = 0o644): string {
  const file = join(clone, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text, { mode });
  return file;
}

const PLACED: readonly (readonly [name: string, text: (clone: string) => string])[] = [
  ['.venv/pyvenv.cfg', (clone) => `home = /usr/bin\ncommand = python3 -m venv ${clone}/.venv\n`],
  ['.venv/bin/say', (clone) => `#!${clone}/.venv/bin/python\nimport say\n`],
  ['.venv/bin/long', (clone) => `#!/bin/sh\n'''exec' ${clone}/.venv/bin/python "$0" "$@"\n' '''\n`],
  ['.venv/bin/activate', (clone) => `deactivate\n\nx=1\n\nVIRTUAL_ENV="${clone}/.venv"\n`],
  [`${SITE}/acme.pth`, (clone) => `${clone}/src\n`],
  [`${SITE}/acme.egg-link`, (clone) => `${clone}/src\n.`],
  [`${SITE}/__editable___acme_finder.py`, (clone) => `MAPPING = {'acme': '${clone}/src/acme'}\n`],
  [`${SITE}/acme-1.0.dist-info/direct_url.json`, (clone) => `{"url": "file://${clone}"}`],
  [
    'node_modules/.bin/tsc',
    (clone) => `#!/bin/sh\n  export NODE_PATH="${clone}/node_modules/x:${clone}/y"\n`,
  ],
];

test.each(PLACED)('%s is the same in two clones', (name, text) => {
  const [here, there] = [one, two].map((clone) => state(clone, name, text(clone)));
  expect(here).toMatch(/^placed [0-9a-f]{64}$/);
  expect(there).toBe(here);
  expect(state(two, name, `${text(two)}more`)).not.toBe(here);
});

test.each(PLACED)('%s that leads into another clone is not', (name, text) => {
  const own = state(one, name, text(one));
  expect(state(two, name, text(one))).not.toBe(own);
  expect(state(one, name, text(two))).not.toBe(own);
  expect(state(one, name, text(two))).not.toBe(state(two, name, text(two)));
});

test.each(PLACED)('%s that leads to a path which begins like the clone counts as it is', (name, text) => {
  const own = state(one, name, text(one));
  for (const path of [`${one}b`, `${one}-b`, `${one}.b`, `/x${one}`, `x${one}`, `${one}@2`])
    expect(state(one, name, text(path)), path).not.toBe(own);
});

test('a place and its literal spelling differ', () => {
  const placed = state(one, `${SITE}/a.pth`, `${one}/src\n`);
  for (const text of ['/src\n', '["","/src"]\n', '\n/src\n', '$WORKSPACE/src\n'])
    expect(state(one, `${SITE}/a.pth`, text), text).not.toBe(placed);
});

test('how often, and in which line, the place stands is compared', () => {
  const lines = ['X', `X\nX`, `X:X`, `X\n\n`, `Y\nX`].map((line) =>
    state(one, `${SITE}/a.pth`, line.replaceAll('X', one)),
  );
  expect(new Set(lines).size).toBe(lines.length);
});

test('the code of a .pth file and the body of a script count as they are', () => {
  expect(state(one, `${SITE}/a.pth`, `import sys; sys.path.insert(0, "${one}/src")\n`)).toBeUndefined();
  expect(state(one, '.venv/bin/say', `#!/bin/sh\n\n\necho ${one}\n`)).toBeUndefined();
});

test('the executable bit is compared', () => {
  const text = `#!${one}/.venv/bin/python\n`;
  expect(state(one, '.venv/bin/say', text)).not.toBe(state(one, '.venv/bin/run', text, 0o755));
});

test('a text that names no place, and one of a person, count by their bytes', () => {
  expect(state(one, `${SITE}/a.pth`, './src\n')).toBeUndefined();
  expect(state(one, `${SITE}/acme/settings.ini`, `root = ${one}\n`)).toBe('by its bytes');
  expect(state(one, 'bin/say', `#!${one}/bin/python\n`)).toBe('by its bytes');
  expect(state(one, 'tools/lib/python3.11/site-packages/a.pth', `${one}/src\n`)).toBe('by its bytes');
});

test('RECORD counts without the hashes of files that name the place', () => {
  const name = `${SITE}/say-1.0.dist-info/RECORD`;
  const record = (clone: string, body = 'body') => {
    const script = `#!${clone}/.venv/bin/python\n${body}\n`;
    write(clone, '.venv/bin/say', script);
    const hash = Buffer.from(digestOf(Buffer.from(script)).hash, 'hex').toString('base64url');
    return `../../../bin/say,sha256=${hash},${script.length}\r\nsay.py,sha256=x,1\r\n`;
  };
  const [here, there] = [one, two].map((clone) => state(clone, name, record(clone)));
  expect(here).toMatch(/^placed /);
  expect(there).toBe(here);
  expect(state(two, name, record(two, 'other'))).not.toBe(here);
  /* A hash that is not that of the file counts as it is. */
  write(two, '.venv/bin/say', 'changed');
  expect(state(two, name, record(one))).not.toBe(here);
});
