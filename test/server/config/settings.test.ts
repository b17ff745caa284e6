// Flags, variables and the configuration file become one set of settings, and every mistake has its place.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { parseFlags } from '../../../core/cli/command.ts';
import { messageOf } from '../../../core/errors.ts';
import { parseNamespace } from '../../../core/namespace.ts';
import { ALL_RIGHTS } from '../../../server/access/rights.ts';
import { parseConfig } from '../../../server/config/file.ts';
import { SERVE_FLAGS } from '../../../server/config/flags.ts';
import type { ConfigurableIssuers } from '../../../server/config/issuers-port.ts';
import { readSettings } from '../../../server/config/settings.ts';

let folder = '';
let file = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-config-'));
  file = join(folder, 'server.json');
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});

/** As a wing gives them: a list of no issuers. */
const ISSUERS: ConfigurableIssuers = {
  parse(value) {
    value.list('a list of issuers');
    return { pullRequests: [parseNamespace('acme/app/pr')], putInForce() {} };
  },
  keepUsedTokens() {},
  identify: () => Promise.reject(new Error('no settings ask for it')),
};

function settings(args: readonly string[], env: Record<string, string> = {}) {
  return readSettings(parseFlags(args, SERVE_FLAGS), { HOME: '/h', ...env }, ISSUERS);
}

function withFile(text: string, args: readonly string[] = [], env: Record<string, string> = {}) {
  writeFileSync(file, text);
  return settings(['--config', file, ...args], env);
}

const WHOLE = `// The whole of it.
{
  "$schema": "x",
  "listen": { "host": "::1", "port": 0 },
  "tls": { "cert": "c.pem", "key": "/k.pem", "clientCa": "ca.pem" },
  "store": { "folder": "s", "maxSize": "50%", "lease": "90m", "maxBlob": 10, "verifyRate": 2 ,
    "quotas": { "acme/pr": "1GB" }, "floors": { "acme/main": "20%" } },
  "readOnly": true, "logLevel": "debug", "tokens": "tokens.json",
  "anonymous": { "namespace": "acme/main", "reads": ["acme", ""], "rights": ["stats", "results:read"] },
  "issuers": [], // a comma may follow
}`;

test('the file gives every setting, with paths relative to it', () => {
  expect(withFile(WHOLE)).toMatchObject({
    host: '::1',
    port: 0,
    tls: { cert: join(folder, 'c.pem'), key: '/k.pem', clientCa: join(folder, 'ca.pem') },
    storeFolder: join(folder, 's'),
    maxSize: { share: 0.5 },
    accounts: [
      { name: 'acme/pr', namespaces: ['acme/pr'], quota: { bytes: 1e9 } },
      { name: 'acme/main', namespaces: ['acme/main'], floor: { share: 0.2 } },
      { name: 'pull requests', namespaces: ['acme/app/pr'], quota: { share: 0.25 } },
    ],
    leaseMs: 90 * 60_000,
    maxBlobBytes: 10,
    scrubBytesPerSecond: 2 * 1024 * 1024,
    readOnly: true,
    logLevel: 'debug',
    tokensFile: join(folder, 'tokens.json'),
    anonymous: {
      name: 'anonymous',
      namespace: 'acme/main',
      reads: ['acme', ''],
      rights: new Set(['stats', 'results:read']),
    },
  });
});

test('an empty file changes nothing, and flags beside it count', () => {
  const { storeFolder, ...rest } = settings([]);
  expect(withFile('{}')).toMatchObject({ ...rest, storeFolder });
  expect(withFile('{}', ['--port', '0', '--tokens', 't'])).toMatchObject({ port: 0, tokensFile: 't' });
  expect(withFile('{}', [], { ASSAY_TOKENS: '/t', ASSAY_STORE: '/s' })).toMatchObject({
    tokensFile: '/t',
    storeFolder: '/s',
  });
});

test('every flag that the file has too is refused, with the place in the file and the name of the flag', () => {
  const flags: Record<string, string[]> = {
    '"::1"': ['--host=::1'],
    '0 }': ['--port=0'],
    '{ "cert"': ['--tls-cert=c', '--tls-key=k', '--tls-client-ca=c'],
    '"s"': ['--store=s'],
    '"50%"': ['--max-size=1GB'],
    '"90m"': ['--lease=1h'],
    '10, "v': ['--max-blob=1'],
    '2 ,': ['--verify-rate=1'],
    '{ "acme/pr"': ['--quota=a=1GB'],
    '{ "acme/main"': ['--floor=a=1GB'],
    true: ['--read-only'],
    '"debug"': ['--log-level=info'],
    '"tokens.json"': ['--tokens=t'],
  };
  for (const [text, args] of Object.entries(flags)) {
    const before = WHOLE.slice(0, WHOLE.indexOf(text)).split('\n');
    const place = `${before.length}:${(before.at(-1)?.length ?? 0) + 1}`;
    const [name] = args.at(-1)?.split('=') ?? [];
    expect(() => withFile(WHOLE, args)).toThrow(`${file}:${place}: this setting is also given by ${name};`);
  }
  const given = Object.values(flags).flat();
  const names = new Set(given.map((arg) => arg.replace(/^--|=.*$/g, '')));
  const others = ['config', ...Object.keys(FLEET_FLAGS)];
  expect(names).toEqual(new Set(Object.keys(SERVE_FLAGS).filter((name) => !others.includes(name))));
  try {
    withFile(WHOLE, given);
    expect.unreachable();
  } catch (error) {
    expect(messageOf(error).split('\n')).toHaveLength(names.size);
  }
});

const FLEET_FLAGS = {
  index: 'postgres://h/d',
  blobs: 's3://b/p',
  tier: 't',
  'tier-size': '1GB',
  'max-index-size': '2GB',
};
const FLEET =
  '{ "store": { "index": "postgres://h/d", "blobs": "s3://b/p", "tier": "t", "tierSize": "1GB", "maxSize": "5GB", "maxIndexSize": "2GB" } }';

test('a fleet is read from the file, the flags or variables, and refused if it is given twice', () => {
  const { fleet } = withFile(FLEET);
  expect(fleet).toMatchObject({
    index: 'postgres://h/d',
    blobs: 's3://b/p',
    tier: { maxSize: { bytes: 1e9 } },
    maxBytes: 5e9,
    maxIndexBytes: 2e9,
  });
  for (const [flag, value] of Object.entries(FLEET_FLAGS))
    expect(() => withFile(FLEET, [`--${flag}=${value}`])).toThrow(`also given by --${flag};`);
  expect(() => withFile(FLEET, [], { ASSAY_INDEX: 'postgres://x/y' })).toThrow('also given by ASSAY_INDEX');
  const variables = { ASSAY_INDEX: 'postgres://h/d', ASSAY_BLOBS: 's3://b/p' };
  expect(withFile('{}', [], variables).fleet).toMatchObject({ blobs: 's3://b/p', tier: undefined });
});

test('a fleet has the shares that its server is given', () => {
  const variables = { ASSAY_INDEX: 'postgres://h/d', ASSAY_BLOBS: 's3://b/p' };
  const { accounts } = withFile('{}', ['--quota=acme/pr=10%', '--floor=acme/main=1GB'], variables);
  expect(accounts).toEqual([
    { name: 'acme/pr', namespaces: ['acme/pr'], quota: { share: 0.1 }, floor: undefined },
    { name: 'acme/main', namespaces: ['acme/main'], quota: undefined, floor: { bytes: 1e9 } },
  ]);
});

test('--max-index-size is a number of bytes, only for a fleet, and that of --max-size without it', () => {
  const variables = { ASSAY_INDEX: 'postgres://h/d', ASSAY_BLOBS: 's3://b/p' };
  expect(withFile('{}', ['--max-size=3GB'], variables).fleet).toMatchObject({ maxIndexBytes: 3e9 });
  expect(withFile('{}', [], variables).fleet).toMatchObject({ maxIndexBytes: Number.POSITIVE_INFINITY });
  expect(() => withFile('{}', ['--max-index-size=50%'], variables)).toThrow('is a number of bytes');
  expect(() => withFile('{}', ['--max-index-size=1GB'])).toThrow('needs --index and --blobs');
});

test('a variable that the file has too is refused', () => {
  expect(() => withFile(WHOLE, [], { ASSAY_STORE: '/s' })).toThrow(
    ': this setting is also given by ASSAY_STORE',
  );
  expect(() => withFile(WHOLE, [], { ASSAY_TOKENS: '/t' })).toThrow('also given by ASSAY_TOKENS');
  expect(withFile(WHOLE, [], { ASSAY_STORE: '', ASSAY_TOKENS: '' })).toBeDefined();
});

test('all mistakes are reported together, each with line and column', () => {
  const text = `{
  "listn": {},
  "listen": { "port": 70000, "host": "" },
  "tls": { "cert": 1 },
  "store": { "maxSize": "much", "lease": "3", "maxBlob": 0.5 },
  "readOnly": "yes",
  "logLevel": "loud",
  "tokens": ["a"],
  "anonymous": { "namespace": "", "reads": ["~s3"], "rights": "everything" },
  "issuers": {}
}`;
  try {
    parseConfig('s.json', text);
    expect.unreachable();
  } catch (error) {
    expect(error).toMatchObject({ code: 'ASSAY_SERVER_CONFIG' });
    const lines = messageOf(error).replace('ASSAY_SERVER_CONFIG: ', '').split('\n');
    expect(lines.map((line) => line.replace(/^s\.json:(\d+):\d+: .*$/, '$1')).toSorted()).toEqual(
      ['2', '3', '3', '4', '4', '5', '5', '5', '6', '7', '8', '9', '9', '9', '10'].toSorted(),
    );
    expect(lines).toContain('s.json:2:3: there is no field "listn" here; did you mean listen?');
    expect(lines).toContain('s.json:3:23: a whole number from 0 to 65535 is expected here');
    expect(lines).toContain('s.json:4:10: "key" is missing');
    expect(lines.join()).toContain('s.json:5:25: this field takes a size such as 50GB');
  }
});

test.each([
  ['', 'a value is missing'],
  ['[]', 'an object { … } is expected'],
  ['{"listen": {"port": 1, "port": 2}}', '"port" is given twice'],
  ['{"listen": []}', 'an object { … } is expected'],
  ['{"tls": {}}', '"cert" is missing'],
  ['{"anonymous": {}}', '"rights" is missing'],
  ['{"tokens": ""}', 'the text is empty'],
  ['{"listen": {"port": 1}', 'a "}" is missing'],
  ['{"tokens": "t"} {}', 'text follows the last'],
])('%s is refused', (text, why) => {
  expect(() => parseConfig('s.json', text)).toThrow(why);
  expect(() => parseConfig('s.json', text)).toThrow(/^ASSAY_SERVER_CONFIG: s\.json:1:\d+: /);
});

test('issuers are refused, with their place, if no wing can verify their tokens', () => {
  expect(() => parseConfig('s.json', '{"issuers": []}')).toThrow(
    'ASSAY_NOT_IN_BUILD: s.json:1:13: this build of Assay can’t verify tokens of issuers',
  );
});

test('a file that cannot be read is refused by its name', () => {
  expect(() => settings(['--config', file])).toThrow(`ASSAY_SERVER_CONFIG: ${file}: ENOENT`);
  expect(() => settings(['--config', folder])).toThrow(`ASSAY_SERVER_CONFIG: ${folder}: EISDIR`);
});

test('no setting of the file gives all rights by a short name', () => {
  const { given } = parseConfig('s.json', '{"anonymous": {"namespace": "a", "rights": "read-write"}}');
  expect(given.anonymous?.rights.has('admin')).toBe(false);
  expect(given.anonymous?.rights.has('server:stats')).toBe(false);
  expect(given.anonymous?.rights.has('overview')).toBe(false);
  expect(given.anonymous?.rights.size).toBe(ALL_RIGHTS.size - 3);
});
