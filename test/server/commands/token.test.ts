// `assay token` as people use it: a process, its output, its exit code, and the file that it leaves.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { readTokens, tokenHash } from '../../../server/access/tokens-file.ts';
import { Reach } from '../../project/test-kinds.ts';
import { baseEnvironment, FORMS, type Ran, RUNTIME_FORMS, runProcess } from '../../rig/assay.ts';

const [FORM] = RUNTIME_FORMS;

let folder = '';
let file = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-token-'));
  file = join(folder, 'tokens.json');
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});

function token(args: readonly string[], { form = FORM ?? 'source', env = {} } = {}): Promise<Ran> {
  return runProcess([...FORMS[form], 'token', ...args], {
    cwd: folder,
    env: { ...baseEnvironment(), ASSAY_TOKENS: file, ...env },
  });
}

async function create(name: string, ...args: string[]): Promise<string> {
  const ran = await token(['create', name, '--namespace', 'acme/app/main', ...args]);
  expect(ran).toMatchObject({ code: 0 });
  return ran.stdout.trim();
}

test('create --jwt prints a token in the form of a JWT, of which the file has the digest alone', async () => {
  const jwt = await create('buildkit', '--jwt', '--reads', 'acme/lib', '--expires', '1d');
  expect(jwt).toMatch(/^ey[\w-]+\.ey[\w-]+\.[\w-]{43}$/);
  const [entry] = readTokens(file) ?? [];
  expect(entry?.sha256).toBe(tokenHash(jwt));
  expect(readFileSync(file, 'utf8')).not.toContain(jwt.split('.')[2]);
  const { ac, exp } = JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString());
  expect(exp).toBe(Math.floor((entry?.expiresAt ?? 0) / 1000));
  expect(JSON.parse(ac).at(-1)).toEqual({ Scope: 'acme/app/main', Permission: 3 });
  expect((await token(['list', '--jwt'])).stderr).toContain('token list takes no --jwt');
});

test.each(RUNTIME_FORMS)('create prints the token alone, and the file knows it (%s)', async (form) => {
  const args = [
    'create',
    'pr',
    '--namespace',
    'acme/app/pr',
    '--reads',
    'acme/app/main',
    '--reads',
    'acme/lib',
  ];
  const ran = await token([...args, '--rights', 'read', '--expires', '30d', '--tokens', 'other.json'], {
    form,
  });
  expect(ran.stdout).toMatch(/^assay_[0-9a-f]{64}\n$/);
  expect(ran.stderr).toMatch(
    /^assay token: created pr \([0-9a-f]{12}\) for acme\/app\/pr, read, until \d{4}-.*\n$/,
  );
  const [entry] = readTokens(join(folder, 'other.json')) ?? [];
  expect(entry).toMatchObject({
    name: 'pr',
    sha256: tokenHash(ran.stdout.trim()),
    namespace: 'acme/app/pr',
    reads: ['acme/app/main', 'acme/lib'],
    rights: ['results:read', 'blobs:read', 'stats'],
  });
  expect((entry?.expiresAt ?? 0) - (entry?.createdAt ?? 0)).toBe(30 * 86_400_000);
  expect(readdirSync(folder)).toEqual(['other.json']);
});

test('list shows every token and its state, and no secret', async () => {
  const first = await create('ci', '--rights', 'results:read,blobs:read');
  const second = await create('ci', '--expires', '0.001s');
  const third = await create('old');
  await token(['revoke', 'old']);
  const listed = await token(['list']);
  const rows = listed.stdout
    .trim()
    .split('\n')
    .map((line) => line.split(/ {2,}/));
  expect(rows.map(([name]) => name)).toEqual(['NAME', 'ci', 'ci', 'old']);
  expect(rows.map((row) => row.at(-1))).toEqual(['STATE', 'valid', 'expired', 'revoked']);
  expect(rows.map((row) => row[4])).toEqual([
    'RIGHTS',
    'results:read,blobs:read',
    'read-write',
    'read-write',
  ]);
  const json = await token(['list', '--json']);
  expect(JSON.parse(json.stdout)).toMatchObject([
    { name: 'ci', state: 'valid', namespace: 'acme/app/main', rights: ['results:read', 'blobs:read'] },
    { name: 'ci', state: 'expired' },
    { name: 'old', state: 'revoked' },
  ]);
  for (const secret of [first, second, third]) {
    expect(listed.stdout + json.stdout + readFileSync(file, 'utf8')).not.toContain(secret.slice(6, 30));
    expect(listed.stdout + json.stdout).not.toContain(tokenHash(secret));
  }
});

test('two tokens of one name are valid at once; an ID revokes one of them, the name all', async () => {
  const states = () => readTokens(file)?.map(({ revokedAt }) => revokedAt !== undefined);
  await create('ci');
  await create('ci');
  await create('other');
  expect(states()).toEqual([false, false, false]);
  const [first] = readTokens(file) ?? [];
  expect((await token(['revoke', first?.id ?? ''])).stderr).toBe(`assay token: revoked ci (${first?.id})\n`);
  expect(states()).toEqual([true, false, false]);
  const all = await token(['revoke', 'ci']);
  expect(all.stderr).toContain('(it was revoked already)');
  expect(states()).toEqual([true, true, false]);
  expect(readTokens(file)?.[0]?.revokedAt).toBeLessThan(readTokens(file)?.[1]?.revokedAt ?? 0);
});

test('commands that run at once lose nothing', async () => {
  await Promise.all(Array.from({ length: 6 }, (_, index) => create(`ci-${index}`)));
  await Promise.all([create('one-more'), token(['revoke', 'ci-1']), token(['revoke', 'ci-2'])]);
  const entries = readTokens(file) ?? [];
  expect(entries.map(({ name }) => name).toSorted()).toEqual([
    ...Array.from({ length: 6 }, (_, index) => `ci-${index}`),
    'one-more',
  ]);
  expect(
    entries
      .filter(({ revokedAt }) => revokedAt !== undefined)
      .map(({ name }) => name)
      .toSorted(),
  ).toEqual(['ci-1', 'ci-2']);
});

test.each([
  [[], 'ASSAY_USAGE', 'token takes one of create, list, revoke'],
  [['creat', 'x'], 'ASSAY_USAGE', 'did you mean create?'],
  [['create'], 'ASSAY_USAGE', 'token create takes one NAME'],
  [['create', 'a', 'b', '--namespace', 'x'], 'ASSAY_USAGE', 'not also b'],
  [['create', 'a'], 'ASSAY_USAGE', 'needs --namespace PATH'],
  [['create', 'a', '--namespace='], 'ASSAY_USAGE', '--namespace needs a value'],
  [['create', 'a', '--namespace', '/x'], 'ASSAY_BAD_NAMESPACE', '"/x"'],
  [['create', 'a', '--namespace', 'x', '--reads', '..'], 'ASSAY_BAD_NAMESPACE', '".."'],
  [['create', 'a b', '--namespace', 'x'], 'ASSAY_USAGE', 'can’t name a token'],
  [['create', '0123456789ab', '--namespace', 'x'], 'ASSAY_USAGE', 'can’t name a token'],
  [['create', 'a', '--namespace', 'x', '--rights', 'all'], 'ASSAY_USAGE', '--rights takes read, write'],
  [['create', 'a', '--namespace', 'x', '--expires', '30'], 'ASSAY_USAGE', '--expires takes a time'],
  [['create', 'a', '--namespace', 'x', '--expires', '9999999d'], 'ASSAY_USAGE', 'too long'],
  [['create', 'a', '--namespace', 'x', '--json'], 'ASSAY_USAGE', 'token create takes no --json'],
  [['list', 'x'], 'ASSAY_USAGE', 'takes no argument "x"'],
  [['list', '--reads', 'x'], 'ASSAY_USAGE', 'token list takes no --reads'],
  [['list', '--tokens', 'none.json'], 'ASSAY_TOKENS_FILE', 'there is no such file'],
  [['revoke', 'man'], 'ASSAY_NO_TOKEN', 'did you mean main?'],
  [['revoke', 'main', '--tokens', 'none.json'], 'ASSAY_TOKENS_FILE', 'there is no such file'],
  [['create', 'a', '--namespace', 'x', '--tokens', 'none/t.json'], 'ASSAY_TOKENS_FILE', 'none'],
])('token %j is refused, and changes nothing', async (args, code, why) => {
  await create('main');
  const before = readFileSync(file, 'utf8');
  const ran = await token(args);
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain(`assay: ${code}: `);
  expect(ran.stderr).toContain(why);
  expect(readFileSync(file, 'utf8')).toBe(before);
  expect(readdirSync(folder)).toEqual(['tokens.json']);
});

test('without --tokens or ASSAY_TOKENS, the command says which one to give', async () => {
  const ran = await token(['list'], { env: { ASSAY_TOKENS: '' } });
  expect(ran).toMatchObject({ code: 2 });
  expect(ran.stderr).toContain('name the tokens file: --tokens FILE, or ASSAY_TOKENS');
});

test('a file that is not valid is refused with line and column, and stays', async () => {
  writeFileSync(file, '{\n  "tokens": [{"name": "x"}]\n}\n');
  for (const args of [['list'], ['revoke', 'x'], ['create', 'x', '--namespace', 'a']]) {
    const ran = await token(args);
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toMatch(/ASSAY_TOKENS_FILE: .*tokens\.json:2:14: "id" is missing/);
  }
  expect(readFileSync(file, 'utf8')).toContain('"name": "x"');
});

test('a token that could not be printed is not kept', async () => {
  await create('main');
  const args = [...FORMS[FORM ?? 'source'], 'token', 'create', 'lost', '--namespace', 'a'];
  const ran = await runProcess(['sh', '-c', '"$@" > /dev/full', 'sh', ...args], {
    cwd: folder,
    env: { ...baseEnvironment(), ASSAY_TOKENS: file },
  });
  expect(ran).toMatchObject({ code: 2 });
  expect(ran.stderr).toContain('the token could not be printed');
  expect(readTokens(file)?.map(({ name }) => name)).toEqual(['main']);
});

test('the command loads neither the server nor the store', () => {
  const rooms = [...new Reach().filesOf('server/commands/token.ts')].filter(
    (name) => !/^(?:core|system)\//.test(name),
  );
  expect(rooms.filter((name) => !name.startsWith('server/access/'))).toEqual(['server/commands/token.ts']);
});

test('the help has examples and says how soon a change takes effect', async () => {
  const { stdout } = await token(['--help']);
  expect(stdout).toContain('within 5 seconds');
  expect(stdout).toContain('assay token create main --namespace acme/app/main --tokens tokens.json');
});
