// What a token could not upload is sent by that token later, and by no other: on a permanent agent, jobs of a pull request
// and of main share one store and one address.
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FORMS, type RanWithSummary, Workshop } from '../../rig/assay.ts';
import { ServerProcess } from '../../rig/server.ts';

let shop: Workshop;
let server: ServerProcess;
let tokens: string;

const tokenFor = (namespace: string, ...more: readonly string[]): string => {
  const [program = '', ...before] = FORMS.bundle;
  const name = namespace.replaceAll('/', '-');
  const args = ['token', 'create', name, '--namespace', namespace, ...more, '--tokens', tokens];
  return execFileSync(program, [...before, ...args], { encoding: 'utf8', stdio: 'pipe' }).trim();
};

beforeEach(async () => {
  shop = new Workshop();
  shop.write('in.txt', 'input\n');
  tokens = join(shop.folder, 'tokens.json');
});

afterEach(async () => {
  await server.stop();
  shop.remove();
});

function build(word: string, token: string, store = 'store'): Promise<RanWithSummary> {
  const flags = ['--store', join(shop.folder, store), '--remote', server.url, '--no-report'];
  const declared = ['--input', 'in.txt', '--output', 'out'];
  const command = ['sh', '-c', `cat in.txt > out; echo ${word} >> out`];
  return shop.run([...flags, ...declared, '--', ...command], { env: { CI: 'true', ASSAY_TOKEN: token } });
}

/** On another machine. */
async function has(word: string, token: string): Promise<boolean> {
  rmSync(join(shop.folder, 'other'), { recursive: true, force: true });
  return (await build(word, token, 'other')).summary.outcome === 'hit-remote';
}

/** A result whose upload fails. */
async function buildWhileDown(word: string, token: string): Promise<void> {
  const port = Number(new URL(server.url).port);
  await server.stop();
  expect((await build(word, token)).summary).toMatchObject({ outcome: 'miss', published: true });
  server = await ServerProcess.start(join(shop.folder, 'served'), { port, args: ['--tokens', tokens] });
}

test('a pull request’s result that was not uploaded is not published by main’s token', async () => {
  const main = tokenFor('acme/app/main');
  const reader = tokenFor('acme/app/main/reader', '--rights', 'read');
  const pull = tokenFor('acme/app/pr', '--reads', 'acme/app/main');
  server = await ServerProcess.start(join(shop.folder, 'served'), { args: ['--tokens', tokens] });
  await buildWhileDown('pulled', pull);
  await build('of main', main);
  const pushed = await shop.assay(['push', '--json', '--remote', server.url], { env: { ASSAY_TOKEN: main } });
  expect(JSON.parse(pushed.stdout)).toEqual({ shared: 0, unshared: 0 });
  expect([await has('of main', reader), await has('pulled', reader)]).toEqual([true, false]);
  /* Its own token sends it. */
  await build('next', pull);
  const second = tokenFor('acme/app/pr/second', '--rights', 'read');
  await expect.poll(() => has('pulled', second), { interval: 1000 }).toBe(true);
});
