// What the page Set up tells people to write for each tool.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SETTINGS } from '../../../server/pages/front-page.ts';
import { TOOLS } from '../setup/tools.ts';

const HOST = 'cache.example:8980';
const open = { host: HOST, isTls: false, needsToken: false };
const guarded = { host: HOST, isTls: true, needsToken: true };

test('there are 19 tools, each with a name of its own', () => {
  expect(new Set(TOOLS.map(({ name }) => name)).size).toBe(19);
});

test.each(TOOLS)('$name is told this server’s address, in the clear or over TLS', ({ snippet }) => {
  expect(snippet(open)).toMatch(/\b(http|grpc):\/\/cache\.example:8980/);
  expect(snippet(guarded)).toMatch(/\b(https|grpcs):\/\/cache\.example:8980/);
  expect(snippet(open) + snippet(guarded)).not.toContain('//HOST');
});

test.each(TOOLS)('$name is told of no token where none is needed', ({ snippet }) => {
  expect(snippet(open)).not.toMatch(/(?<!_)TOKEN/);
});

/** They take a token in another place, or none. */
const WITHOUT_TOKEN = ['recc', 'BuildStream', 'sccache, S3', 'Rush'];

test.each(TOOLS.filter(({ name }) => !WITHOUT_TOKEN.includes(name)))(
  '$name is told where its token goes',
  (tool) => {
    expect(tool.snippet(guarded)).toContain('TOKEN');
  },
);

test('each name of a setting is explained in docs/PROTOCOLS.md', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/PROTOCOLS.md'), 'utf8');
  const names = TOOLS.flatMap(
    ({ snippet }) => snippet(guarded).match(/\b[A-Z][A-Z0-9]+_[A-Z0-9_]+\b|--\w[\w-]+/g) ?? [],
  );
  expect(names.length).toBeGreaterThan(20);
  expect([...new Set(names)].filter((name) => !page.includes(name))).toEqual([]);
});

test('each tool of the text at / is on the page too', () => {
  const names = TOOLS.map(({ name }) => name);
  const missing = Object.keys(SETTINGS).filter(
    (name) => !names.some((one) => one.startsWith(name.split(',')[0] ?? name)),
  );
  expect(missing).toEqual([]);
});
