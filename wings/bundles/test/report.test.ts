// `assay export --for-report`: what a bug report needs, and nothing that looks like a secret.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Workshop } from '../../../test/rig/assay.ts';
import { withoutSecrets } from '../export/report.ts';

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
});
afterEach(() => shop.remove());

test('a report has the command, its evidence and its facts, and no content, log or secret', async () => {
  shop.write('.npmrc', '//registry.example/:_authToken=npm_abc\n');
  shop.write('in.txt', 'the content of a file\n');
  const secret = 'ghp_0123456789abcdefghijABCDEFGHIJ012345';
  const env = { DEPLOY_TOKEN: 'a secret of the environment', HOME: shop.folder };
  const command = ['sh', '-c', `cat in.txt; wc -c .npmrc > out; : --token=${secret} ${shop.folder}/x`];
  const args = ['--input', 'in.txt', '--output', 'out', '--env', 'DEPLOY_TOKEN', '--', ...command];
  expect((await shop.run(args, { env })).summary.published).toBe(true);
  const file = join(shop.folder, 'report.jsonl');
  const ran = await shop.assay(['export', '--for-report', file], { env });
  expect(ran.code, ran.stderr).toBe(0);
  const text = readFileSync(file, 'utf8');
  for (const told of [secret, 'a secret of the environment', 'the content of a file', shop.folder])
    expect(text).not.toContain(told);
  const [, line = ''] = text.split('\n');
  const { action } = JSON.parse(line);
  expect(action.command[2]).toContain('--token=(hidden) ~/x');
  expect(action.environment.DEPLOY_TOKEN).toBe('(hidden)');
  expect(action.result.outputs[0]).toMatchObject({ path: 'out' });
  expect(action.result.facts).toContainEqual(expect.objectContaining({ what: '.npmrc', state: '(hidden)' }));
  expect(action.result.evidence.findings.length).toBeGreaterThan(0);
});

test.each([
  ['curl https://user:hunter2@example.com/x', 'hunter2'],
  ['Authorization: Bearer abcdefgh.ijkl', 'abcdefgh'],
  ['--password hunter2', 'hunter2'],
  ['API_KEY="hunter2"', 'hunter2'],
  ['glpat-abcdefghijklmnopqrst', 'glpat-abc'],
  ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.sig', 'eyJzdWIi'],
  ['AKIAIOSFODNN7EXAMPLE', 'AKIA'],
  ['wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY', 'wJalr'],
])('%s is hidden', (text, secret) => {
  expect(JSON.stringify(withoutSecrets({ text, list: [text] }, '/home/me'))).not.toContain(secret);
});

test('digests, paths and plain words stay', () => {
  const plain = {
    hash: 'a'.repeat(64),
    path: 'node_modules/@scope/some-very-long-package-name-0123/lib/indexFile.js',
    command: ['gcc', '-c', 'main.c'],
  };
  expect(withoutSecrets(plain, '/home/me')).toEqual(plain);
});
