// The tokens file: what it keeps, what it refuses, and how it is replaced.
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { parseNamespace } from '../../../core/namespace.ts';
import {
  isTokenName,
  makeToken,
  type NewToken,
  parseTokens,
  readTokens,
  stateOf,
  tokenHash,
  updateTokens,
} from '../../../server/access/tokens-file.ts';

let folder = '';
let file = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-tokens-'));
  file = join(folder, 'tokens.json');
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});

const WANTED: NewToken = {
  name: 'main',
  namespace: parseNamespace('acme/app/main'),
  reads: [parseNamespace('acme/lib/main')],
  rights: ['results:read', 'blobs:read'],
  expiresAt: 2_000_000_000_000,
};

async function add(wanted: NewToken = WANTED): Promise<string> {
  const { token, entry } = makeToken(wanted, 1_700_000_000_000);
  await updateTokens(file, (entries) => [...entries, entry]);
  return token;
}

test('the file keeps everything but the token', async () => {
  const token = await add();
  expect(readTokens(file)).toMatchObject([
    { ...WANTED, sha256: tokenHash(token), createdAt: 1_700_000_000_000, revokedAt: undefined },
  ]);
  expect(readFileSync(file, 'utf8')).not.toContain(token.slice(6));
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toEqual(['tokens.json']);
});

test('tokens differ, have 256 random bits, and no character that a URL, a shell or S3 treats specially', () => {
  const tokens = Array.from({ length: 100 }, () => makeToken(WANTED, 0).token);
  expect(new Set(tokens).size).toBe(100);
  for (const token of tokens) expect(token).toMatch(/^assay_[0-9a-f]{64}$/);
});

test('a change keeps all other entries, an owner’s permission for the group, and a link to the file', async () => {
  await add();
  chmodSync(file, 0o666);
  const link = join(folder, 'link.json');
  symlinkSync('tokens.json', link);
  const { entry } = makeToken({ ...WANTED, name: 'second' }, 0);
  await updateTokens(link, (entries) => [...entries, entry]);
  expect(readTokens(file)?.map(({ name }) => name)).toEqual(['main', 'second']);
  expect(lstatSync(link).isSymbolicLink()).toBe(true);
  expect(statSync(file).mode & 0o777).toBe(0o640);
});

test('a change that fails leaves the file as it was, and no lock', async () => {
  await add();
  const before = readFileSync(file, 'utf8');
  await expect(
    updateTokens(file, () => {
      throw new Error('no');
    }),
  ).rejects.toThrow('no');
  const { entry } = makeToken(WANTED, 0);
  await expect(updateTokens(file, (entries) => [...entries, entry, entry])).rejects.toThrow(
    'an earlier entry has the same id',
  );
  expect(readFileSync(file, 'utf8')).toBe(before);
  expect(readdirSync(folder)).toEqual(['tokens.json']);
});

test('a file that is not valid is never replaced', async () => {
  writeFileSync(file, '{"tokens": [');
  await expect(add()).rejects.toThrow('ASSAY_TOKENS_FILE');
  expect(readFileSync(file, 'utf8')).toBe('{"tokens": [');
});

test('what a killed process left behind does not hinder the next change', async () => {
  await add();
  writeFileSync(`${file}.new`, '{"tokens": [');
  await add();
  expect(readTokens(file)).toHaveLength(2);
  expect(existsSync(`${file}.new`)).toBe(false);
});

test('there is no file, or no folder', async () => {
  expect(readTokens(file)).toBeUndefined();
  await expect(updateTokens(join(folder, 'none', 'tokens.json'), (entries) => entries)).rejects.toThrow(
    /^ASSAY_TOKENS_FILE: .*none/,
  );
});

const GOOD = {
  id: '0123456789ab',
  name: 'main',
  sha256: 'a'.repeat(64),
  namespace: 'acme/main',
  reads: ['acme'],
  rights: ['stats'],
  createdAt: '2026-01-01T00:00:00.000Z',
};

test.each([
  ['the empty file', '', 'a value is missing'],
  ['half a file', '{"tokens": [{', 'is missing here'],
  ['a comment, which a change would lose', '{"tokens": [] /* x */}', 'comments'],
  ['no tokens', '{}', '"tokens" is missing'],
  ['an unknown field', '{"tokens": [], "version": 2}', 'there is no field "version"'],
  ...[
    [{ onlyFrom: '10.0.0.0/8' }, 'there is no field "onlyFrom"'],
    [{ id: 'x' }, '12 hex digits is expected'],
    [{ name: 'a b' }, 'a name of letters'],
    [{ name: 'a\u001b[2J' }, 'a name of letters'],
    [{ sha256: 'A'.repeat(64) }, 'a SHA-256 in hex'],
    [{ namespace: '' }, 'can’t be empty'],
    [{ namespace: 'a/../b' }, 'is no namespace'],
    [{ namespace: '~s3/a' }, 'is no namespace'],
    [{ reads: ['~s3'] }, 'is no namespace'],
    [{ reads: 'acme' }, 'a list of namespaces'],
    [{ rights: ['everything'] }, 'one of results:read'],
    [{ rights: undefined }, '"rights" is missing'],
    [{ createdAt: 'yesterday' }, 'a time such as'],
    [{ expiresAt: '2026-99-01T00:00:00.000Z' }, 'a time such as'],
    [{ expiresAt: null }, 'a time in "quotes"'],
    [{ revokedAt: 12 }, 'a time in "quotes"'],
  ].map(([change, why]) => [
    `an entry with ${JSON.stringify(change)}`,
    JSON.stringify({ tokens: [{ ...GOOD, ...Object(change) }] }),
    String(why),
  ]),
  [
    'two entries with one id',
    JSON.stringify({ tokens: [GOOD, { ...GOOD, sha256: 'b'.repeat(64) }] }),
    'same id',
  ],
  ['two with one hash', JSON.stringify({ tokens: [GOOD, { ...GOOD, id: 'b'.repeat(12) }] }), 'same hash'],
])('%s is refused, with line and column', (_, text, why) => {
  expect(() => parseTokens('t.json', text)).toThrow(why);
  expect(() => parseTokens('t.json', text)).toThrow(/^ASSAY_TOKENS_FILE: t\.json:1:\d+: /);
  expect(parseTokens('t.json', JSON.stringify({ tokens: [GOOD] }))).toHaveLength(1);
});

test('a token is valid until its time, and a revoked one never', () => {
  const { entry } = makeToken({ ...WANTED, expiresAt: 1000 }, 0);
  expect([stateOf(entry, 999), stateOf(entry, 1000)]).toEqual(['valid', 'expired']);
  expect(stateOf({ ...entry, revokedAt: 5 }, 1)).toBe('revoked');
  expect(stateOf({ ...entry, expiresAt: undefined }, 1e15)).toBe('valid');
});

test('a name is one that no log or table mistakes, and no id', () => {
  expect(['main', 'ci@acme', 'a/b:c+d.e-f_9'].filter((name) => !isTokenName(name))).toEqual([]);
  const wrong = ['', '-x', 'a b', 'a\n', 'é', 'x'.repeat(129), '0123456789ab', '.', '/a'];
  expect(wrong.filter(isTokenName)).toEqual([]);
});

test('a change whose lock another process took over changes nothing, and says so', async () => {
  await add();
  const before = readFileSync(file, 'utf8');
  const changed = updateTokens(file, () => {
    writeFileSync(`${file}.lock`, JSON.stringify({ id: '00000000-0000-4000-8000-000000000000' }));
    return [];
  });
  await expect(changed).rejects.toThrow('ASSAY_TOKENS_BUSY');
  expect(readFileSync(file, 'utf8')).toBe(before);
});
