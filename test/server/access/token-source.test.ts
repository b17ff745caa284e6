// A running server follows its tokens file, and never gives up good tokens for a bad file.
import { mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { parseNamespace } from '../../../core/namespace.ts';
import { TokenSource, type TokenSourceOptions } from '../../../server/access/token-source.ts';
import { makeToken, tokenHash, updateTokens } from '../../../server/access/tokens-file.ts';

let folder = '';
let file = '';
let now = 1_700_000_000_000;
let lines: Record<string, unknown>[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-source-'));
  file = join(folder, 'tokens.json');
  now = 1_700_000_000_000;
  lines = [];
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});

async function add(name: string, expiresAt?: number): Promise<string> {
  const namespace = parseNamespace(`acme/${name}`);
  const { token, entry } = makeToken({ name, namespace, reads: [], rights: ['stats'], expiresAt }, now);
  await updateTokens(file, (entries) => [...entries, entry]);
  return token;
}

function revoke(name: string): Promise<void> {
  return updateTokens(file, (entries) =>
    entries.map((entry) => (entry.name === name ? { ...entry, revokedAt: now } : entry)),
  );
}

function open(options: Partial<TokenSourceOptions> = {}): TokenSource {
  const log = pino({}, { write: (line: string) => lines.push(JSON.parse(line)) });
  return new TokenSource({ file, log, now: () => now, ...options });
}

/** Follows the file until the test ends. */
function follow(source: TokenSource): void {
  const stop = new AbortController();
  const following = source.keepFollowing(stop.signal);
  onTestFinished(() => {
    stop.abort();
    return following;
  });
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 1));
}

test('a token has its identity, and any other text has none', async () => {
  const token = await add('main', now + 1000);
  const source = open();
  expect(source.identify(token)).toEqual({
    name: 'main',
    namespace: 'acme/main',
    reads: [],
    rights: new Set(['stats']),
    expiresAt: now + 1000,
  });
  for (const other of ['', 'main', token.slice(0, -1), `${token} `, token.toUpperCase(), token.slice(6)])
    expect(source.identify(other)).toBeUndefined();
});

test('a token ends at its time, without a change of the file', async () => {
  const token = await add('main', now + 1000);
  const source = open();
  now += 999;
  expect(source.identify(token)?.name).toBe('main');
  now += 1;
  expect(source.identify(token)).toBeUndefined();
});

test('two tokens of one name are valid at once, until one is revoked', async () => {
  const first = await add('ci');
  const source = open();
  const second = await add('ci');
  source.reload();
  expect([first, second].map((token) => source.identify(token)?.name)).toEqual(['ci', 'ci']);
  await updateTokens(file, ([old, ...rest]) => (old ? [{ ...old, revokedAt: now }, ...rest] : rest));
  source.reload();
  expect([first, second].map((token) => source.identify(token)?.name)).toEqual([undefined, 'ci']);
});

test('a token is also found by its hash, for short tokens that came from it', async () => {
  const token = await add('main', now + 1000);
  const source = open();
  expect(source.identifyHash(tokenHash(token))?.name).toBe('main');
  now += 1000;
  expect(source.identifyHash(tokenHash(token))).toBeUndefined();
});

test('fs.watch reports a new token and a revoked one', async () => {
  const first = await add('first');
  const source = open({ pollMs: 1_000_000 });
  follow(source);
  const second = await add('second');
  await until(() => source.identify(second) !== undefined);
  await revoke('first');
  await until(() => source.identify(first) === undefined);
  expect(source.identify(second)?.name).toBe('second');
});

test('the poll finds what fs.watch does not report: a file that is behind a link', async () => {
  const token = await add('first');
  renameSync(file, join(folder, 'version-1'));
  const elsewhere = mkdtempSync(join(tmpdir(), 'assay-source-'));
  onTestFinished(() => rmSync(elsewhere, { recursive: true, force: true }));
  symlinkSync(join(folder, 'version-1'), join(elsewhere, 'tokens.json'));
  file = join(elsewhere, 'tokens.json');
  const source = open({ pollMs: 5 });
  follow(source);
  await revoke('first');
  await until(() => source.identify(token) === undefined);
});

test.each([
  ['half a file', () => writeFileSync(file, '{"tokens": [')],
  ['an empty file', () => writeFileSync(file, '')],
  ['a file with one bad entry', () => writeFileSync(file, '{"tokens": [{"name": "x"}]}')],
  ['a removed file', () => unlinkSync(file)],
  [
    'a folder in its place',
    () => {
      unlinkSync(file);
      symlinkSync(folder, file);
    },
  ],
])('%s: the old tokens stay, the log says so once, and the next good file counts', async (_, spoil) => {
  const first = await add('first');
  const source = open();
  spoil();
  for (let time = 0; time < 3; time++) source.reload();
  expect(source.identify(first)?.name).toBe('first');
  expect(lines).toMatchObject([
    { level: 40, code: 'ASSAY_TOKENS_FILE', msg: expect.stringContaining('keeps the old tokens') },
  ]);
  rmSync(file, { force: true });
  const second = await add('second');
  source.reload();
  expect([first, second].map((token) => source.identify(token)?.name)).toEqual([undefined, 'second']);
  expect(lines.at(-1)).toMatchObject({ level: 30, msg: 'reloaded the tokens' });
});

test('a file without tokens ends all of them', async () => {
  const token = await add('first');
  const source = open();
  writeFileSync(file, '{"tokens": []}');
  source.reload();
  expect(source.identify(token)).toBeUndefined();
});

test('there must be a valid file at the start', () => {
  expect(() => open()).toThrow(/^ASSAY_TOKENS_FILE: .*there is no such file/);
  writeFileSync(file, '{}');
  expect(() => open()).toThrow(/^ASSAY_TOKENS_FILE: .*:1:1: "tokens" is missing/);
});

test('nothing secret is logged', async () => {
  const token = await add('first');
  const source = open();
  await add('second');
  source.reload();
  writeFileSync(file, `{"tokens": ["${token}"]}`);
  source.reload();
  expect(lines).toHaveLength(2);
  expect(JSON.stringify(lines)).not.toContain(token.slice(6, 20));
});
