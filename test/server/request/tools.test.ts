// What the page Set up tells people to write for each tool.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PROTOCOLS, TOOLS } from '../../../server/request/tools.ts';

const SET_UP = TOOLS.flatMap(({ name, setup }) => (setup ? [{ name, ...setup }] : []));
const HOST = 'cache.example:8980';
const open = { host: HOST, isTls: false, needsToken: false };
const guarded = { host: HOST, isTls: true, needsToken: true };

test('each tool has a name of its own', () => {
  expect(new Set(TOOLS.map(({ name }) => name)).size).toBe(TOOLS.length);
});

test.each(SET_UP)('$name is told this server’s address, in the clear or over TLS', ({ snippet }) => {
  expect(snippet(open)).toMatch(/\b(http|grpc):\/\/cache\.example:8980/);
  expect(snippet(guarded)).toMatch(/\b(https|grpcs):\/\/(token:TOKEN@)?cache\.example:8980/);
  expect(snippet(open) + snippet(guarded)).not.toContain('//HOST');
});

test.each(SET_UP)('$name is told of no token where none is needed', ({ snippet }) => {
  expect(snippet(open)).not.toMatch(/(?<!_)TOKEN/);
});

/** They take a token in another place, or none. */
const WITHOUT_TOKEN = ['recc', 'BuildStream', 'sccache, S3', 'Rush'];

test.each(SET_UP.filter(({ name }) => !WITHOUT_TOKEN.includes(name)))(
  '$name is told where its token goes',
  (tool) => {
    expect(tool.snippet(guarded)).toContain('TOKEN');
  },
);

test('each name of a setting is explained in docs/PROTOCOLS.md', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/PROTOCOLS.md'), 'utf8');
  const names = SET_UP.flatMap(
    ({ snippet }) => snippet(guarded).match(/\b[A-Z][A-Z0-9]+_[A-Z0-9_]+\b|--\w[\w-]+/g) ?? [],
  );
  expect(names.length).toBeGreaterThan(20);
  expect([...new Set(names)].filter((name) => !page.includes(name))).toEqual([]);
});

test('each tool of the text at / is on the page too', () => {
  const named = TOOLS.filter(({ settings }) => settings !== undefined);
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter(({ setup }) => setup === undefined)).toEqual([]);
});

test('each protocol of a tool with a name of its own belongs to a row', () => {
  const rows = TOOLS.flatMap(({ protocols = [] }) => protocols);
  const ofAssay = ['labels', 'path-sets'];
  expect(PROTOCOLS.filter((one) => !ofAssay.includes(one) && !rows.includes(one))).toEqual([]);
});
