// `assay explain` lists observed facts as it lists inputs: both states, where they were seen, in groups; for a run of
// this machine, of a fresh one, and of a server.
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { changed } from '../../../../test/client/run/misses.ts';
import { answerIn } from '../../../../test/client/short/answers.ts';
import { Workshop } from '../../../../test/rig/assay.ts';
import { runSteps } from '../../../../test/rig/graph.ts';
import { identity, sourceOf } from '../../../../test/server/access/identities.ts';
import type { TestServer } from '../../../../test/server/rig.ts';
import { testServer } from '../rig.ts';

const TEAM = identity('team', { namespace: 'acme' });
const OTHER = identity('other', { namespace: 'rival' });
const FILES = 30;

let shop: Workshop;
let server: TestServer;
let beside: string;

beforeEach(async () => {
  shop = new Workshop();
  beside = shop.another('beside');
  for (let file = 0; file < FILES; file++) writeFileSync(join(beside, `f${file}`), 'one');
  shop.write('in.txt', 'in');
  const command = `cat in.txt ../beside/f* > out.txt; test -e ../absent && echo there >> out.txt; true`;
  const step = { command, inputs: ['in.txt'], outputs: ['out.txt'], env: ['LEVEL'] };
  shop.write('assay.json', JSON.stringify({ steps: { read: step } }));
  server = await testServer({ identities: sourceOf(TEAM, OTHER) });
});

afterEach(() => shop.remove());

const env = (more: Record<string, string> = {}) => ({
  ASSAY_REMOTE: server.url,
  ASSAY_TOKEN: 'team',
  LEVEL: 'value-one',
  ...more,
});

const explained = async (args: readonly string[], more: Record<string, string> = {}, cwd = shop.workspace) =>
  shop.assay(['explain', ...args], { env: env(more), cwd });

function changeAll(): void {
  for (let file = 0; file < FILES; file++) writeFileSync(join(beside, `f${file}`), 'two');
  writeFileSync(join(shop.folder, 'absent'), '');
}

test('the facts of a warm machine, 20 lines or all of them', async () => {
  await runSteps(shop, ['read'], { env: env() });
  changeAll();
  const { ends } = await runSteps(shop, ['read'], { env: env() });
  expect(ends.read?.cause?.kind).toBe('fact');
  const { stdout } = await explained(['read']);
  expect(stdout).toMatch(/\nseen {5}on this machine, by the run of 2\d{3}-/);
  const [, listed = ''] = stdout.split('What differs:\n');
  expect(listed).toMatch(
    /^ {2}files that the command read:\n {4}\S*beside\/f\d+: file [0-9a-f]{12} -> file [0-9a-f]{12}\n/,
  );
  const facts = listed.split('\n').filter((line) => line.includes(' -> '));
  expect(facts).toHaveLength(20);
  expect(stdout).toMatch(/\n {2}… and 1\d more: --all lists them\n$/);
  const all = await explained(['--all', 'read']);
  expect(all.stdout).toContain('  paths that it did not find:\n');
  expect(all.stdout).toMatch(/absent: absent -> file/);
  const lines = all.stdout.split('\n').filter((line) => line.includes(' -> '));
  expect(new Set(lines).size).toBe(lines.length);
  expect(lines.filter((line) => /beside\/f\d+:/.test(line))).toHaveLength(FILES);
  const json = JSON.parse((await explained(['--json', 'read'])).stdout);
  expect(json.differences).toHaveLength(lines.length);
  const files = json.differences.filter((one: { kind: string; group: string }) => one.group === 'files');
  expect(files).toHaveLength(FILES);
  expect(files[0]).toMatchObject({ kind: 'fact', after: expect.any(String) });
});

test('the facts and the inputs of a fresh machine name the namespace and the run', async () => {
  await runSteps(shop, ['read'], { env: env() });
  changeAll();
  const store = { ASSAY_STORE: join(shop.folder, 'fresh') };
  const { ends, stderr } = await runSteps(shop, ['read'], { env: env(store) });
  expect(ends.read).toMatchObject({ cause: { kind: 'fact' }, seen: { namespace: 'acme' } });
  const id = /\/runs\/([0-9a-f]{32})/.exec(stderr)?.[1] ?? '';
  expect((await explained(['read'], store)).stdout).toMatch(
    /\nseen {5}in acme, by the run [0-9a-f]{32} of 2/,
  );

  const anywhere = join(shop.folder, 'anywhere');
  mkdirSync(anywhere);
  const told = await explained(['--run', id], { ASSAY_STORE: join(shop.folder, 'none') }, anywhere);
  expect(told.stdout).toContain(`run      ${id} of `);
  expect(told.stdout).toContain('step     read\n');
  expect(told.stdout).toMatch(/files that the command read:\n {4}\S*beside\/f\d+: file changed\n/);
  expect(told.stdout).toContain('more: --all lists them');
  const all = await explained(['--run', id, '--all', 'read'], {}, anywhere);
  expect(all.stdout).toContain('paths that it did not find:');
  const short = await explained(['--run', id, '--json=short'], {}, anywhere);
  const answer = answerIn(short.stdout);
  expect(answer).toMatchObject({
    run: id,
    step: 'read',
    outcome: 'miss',
    next: `assay explain --all --run ${id} read`,
  });
  expect(Number(answer.moreDifferences)).toBeGreaterThan(10);
  expect((await explained(['--run', id], { ASSAY_TOKEN: 'other' }, anywhere)).code).toBe(2);
  expect((await explained(['--run', id, 'another'], {}, anywhere)).stderr).toContain('it has read');
  expect((await explained(['--run', '../now'], {}, anywhere)).stderr).toContain('32 hex digits');
});

test('on a fresh machine a value stays a digest, here and at the server', async () => {
  await runSteps(shop, ['read'], { env: env() });
  shop.write('in.txt', 'changed');
  const clone = join(shop.folder, 'clone', 'workspace');
  mkdirSync(join(shop.folder, 'clone'));
  cpSync(shop.workspace, clone, { recursive: true });
  cpSync(beside, join(shop.folder, 'clone', 'beside'), { recursive: true });
  rmSync(join(clone, 'out.txt'));
  const store = { ASSAY_STORE: join(shop.folder, 'fresh'), LEVEL: 'value-two' };
  const { stderr } = await runSteps(shop, ['read'], { env: env(store), cwd: clone });
  const { stdout } = await explained(['read'], store, clone);
  expect(stdout).toMatch(
    /What differs:\n {2}LEVEL sha256:[0-9a-f]{12} -> sha256:[0-9a-f]{12}\n {2}in.txt changed\n/,
  );
  const id = /\/runs\/([0-9a-f]{32})/.exec(stderr)?.[1] ?? '';
  const told = await explained(['--run', id], {}, clone);
  expect(told.stdout).toContain(
    `What differs:\n  ${changed('variable', 'LEVEL')}\n  ${changed('input', 'in.txt')}\n`,
  );
  const json = (await explained(['--run', id, '--json'], {}, clone)).stdout;
  expect(JSON.parse(json)).toMatchObject({
    run: id,
    step: 'read',
    differences: [{ kind: 'variable' }, { kind: 'input' }],
  });
  expect(told.stdout + stdout + json).not.toMatch(/value-(one|two)/);
});
