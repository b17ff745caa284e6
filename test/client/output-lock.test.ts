// One run at a time works on an output, and its lock says whose it is.
import { lstatSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { whileOwningOutputs } from '../../client/output-lock.ts';
import { ORDINARY, type RunRequest } from '../../client/request.ts';
import { homeIn, ownFolder, Staging } from '../../client/staging.ts';
import { parseRelPath, ROOT } from '../../core/path.ts';
import { identityText, ownIdentity } from '../../hermeticity/process-identity.ts';
import { Workshop } from '../rig/assay.ts';

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
});
afterEach(() => shop.remove());

const request = (...outputs: string[]): RunRequest => ({
  ...ORDINARY,
  workspace: shop.workspace,
  workingDirectory: ROOT,
  command: ['true'],
  inputs: [],
  includeIgnored: false,
  outputs: outputs.map(parseRelPath),
  variables: [],
  tools: [],
  cacheFailures: false,
});

const locks = () => {
  const home = homeIn(shop.workspace);
  const names = readdirSync(home).filter((name) => name.startsWith('lock-'));
  return names.map((name) => join(home, name));
};

const owning = <T>(work: (waited: boolean) => T, ...outputs: string[]) =>
  whileOwningOutputs(request(...outputs), { report: () => {} }, async (waited) => work(waited));

test('a lock names this process, and goes with all of its folder', async () => {
  const held = await owning(() => locks().map((lock) => readlinkSync(lock)), 'a', 'b');
  expect(held).toEqual(Array(2).fill(identityText(ownIdentity())));
  expect(readdirSync(shop.workspace)).toEqual([]);
});

test('while something is staged, locks are names of one link, which is touched for each', async () => {
  const staging = Staging.create(shop.workspace);
  const look = () => locks().map((lock) => ({ owner: readlinkSync(lock), ...lstatSync(lock) }));
  const first = await owning(look, 'a', 'b');
  expect(new Set(first.map(({ ino }) => ino)).size).toBe(1);
  expect(first.map(({ owner, nlink }) => [owner, nlink])).toEqual(
    Array(2).fill([identityText(ownIdentity()), 3]),
  );
  while (Date.now() - (first[0]?.mtimeMs ?? 0) < 5) await new Promise((resolve) => setImmediate(resolve));
  const [second] = await owning(look, 'a');
  expect(second?.ino).toBe(first[0]?.ino);
  expect(second?.mtimeMs).toBeGreaterThan(first[0]?.mtimeMs ?? 0);
  staging.remove();
  expect(readdirSync(shop.workspace)).toEqual([]);
});

test('a lock is made also where what is staged was removed', async () => {
  const staging = Staging.create(shop.workspace);
  rmSync(ownFolder(homeIn(shop.workspace)) ?? '', { recursive: true });
  const held = await owning(() => locks().map((lock) => readlinkSync(lock)), 'a');
  expect(held).toEqual([identityText(ownIdentity())]);
  staging.remove();
});

test('who waits for an output learns that somebody was at it', async () => {
  const staging = Staging.create(shop.workspace);
  const order: string[] = [];
  const both = Promise.withResolvers<void>();
  const first = whileOwningOutputs(request('a'), { report: () => {} }, async () => {
    await both.promise;
    order.push('first');
  });
  const second = whileOwningOutputs(request('a'), { report: () => both.resolve() }, async (waited) =>
    order.push(`second, waited: ${waited}`),
  );
  await Promise.all([first, second]);
  expect(order).toEqual(['first', 'second, waited: true']);
  staging.remove();
});

test('who waits for an output is asked whether it still should, and owns nothing if not', async () => {
  const told: string[] = [];
  const goOn = () => {
    if (told.push('asked') === 3) throw new Error('it is to end');
  };
  const inner = () =>
    whileOwningOutputs(request('a', 'b'), { report: ({ type }) => told.push(type), goOn }, async () => {});
  await owning(async () => {
    await expect(inner()).rejects.toThrow('it is to end');
    expect(locks()).toHaveLength(1);
  }, 'b');
  expect(told).toEqual(['waiting', 'asked', 'asked']);
});
