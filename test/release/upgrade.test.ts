// An upgrade by one release, and a downgrade by one: what either version wrote is a hit for the other, on a store, over
// the network, and in a workspace. docs/UPGRADE.md promises it.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Agent } from 'undici';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { baseEnvironment, type Ran, runProcess, type Summary, summaryOf, Workshop } from '../rig/assay.ts';
import { ServerProcess } from '../rig/server.ts';
import { soak } from '../rig/soak.ts';
import { NOW, type Release, unpackEarlier } from './earlier.ts';
import { AT_ONCE, clientsOf, entryOf, lost, store, storeAll } from './entries.ts';

/** Of all protocols together. */
const ENTRIES = soak(10_000, 120);

let earlier: ReturnType<typeof unpackEarlier>;
let shop: Workshop;
let agent: Agent;
beforeAll(() => {
  earlier = unpackEarlier();
});
afterAll(() => earlier.remove());
beforeEach(() => {
  shop = new Workshop();
  agent = new Agent({ connections: AT_ONCE });
});
afterEach(async () => {
  await agent.destroy();
  shop.remove();
});

const releases = (direction: string): readonly [writer: Release, reader: Release] =>
  direction === 'upgrade' ? [earlier.release, NOW] : [NOW, earlier.release];

async function serve(release: Release, args: readonly string[] = []): Promise<ServerProcess> {
  const server = await ServerProcess.start(shop.store, { program: release.program, args });
  onTestFinished(() => server.kill());
  return server;
}

/** `assay` of a release in a clone of a project, with a local store of that clone. */
function assay(release: Release, clone: string, ...args: readonly string[]): Promise<Ran> {
  const env = { ...baseEnvironment(), ASSAY_STORE: join(shop.folder, `store of ${clone}`) };
  return runProcess([...release.program, ...args], { cwd: join(shop.folder, clone), env });
}

async function runStep(release: Release, clone: string, ...args: readonly string[]): Promise<Summary> {
  return summaryOf(await assay(release, clone, 'run', '--json', ...args));
}

function makeClone(name: string): string {
  mkdirSync(join(shop.folder, name));
  writeFileSync(join(shop.folder, name, 'in.txt'), 'content\n');
  return name;
}

describe.each(['upgrade', 'downgrade'])('%s by one release', (direction) => {
  test(`a server has all ${ENTRIES} entries of every protocol`, { timeout: 900_000 }, async () => {
    const [writer, reader] = releases(direction);
    const before = await serve(writer);
    const clients = clientsOf(before.url, agent);
    const entries = Array.from({ length: ENTRIES }, (_, at) => entryOf(clients, direction, at));
    await storeAll(clients, entries);
    await before.kill();
    const after = await serve(reader);
    const clientsAfter = clientsOf(after.url, agent);
    expect(await lost(clientsAfter, entries)).toEqual([]);
    const more = entryOf(clients, 'more', 0);
    expect(await store(clientsAfter, more)).toBe(true);
    await after.stop();
    const back = await serve(writer);
    expect(await lost(clientsOf(back.url, agent), [...entries, more])).toEqual([]);
  });

  test('tokens and the key of the store are valid', async () => {
    const [writer, reader] = releases(direction);
    const file = join(shop.folder, 'tokens.json');
    makeClone('any');
    const made = await assay(writer, 'any', 'token', 'create', 'ci', '--namespace', 'acme', '--tokens', file);
    const token = made.stdout.trim();
    const before = await serve(writer, ['--tokens', file]);
    await before.stop();
    const key = readFileSync(join(shop.store, 'auth-key'));
    const after = await serve(reader, ['--tokens', file]);
    const asked = await fetch(`${after.url}/api/v1/token`, { headers: { authorization: `Bearer ${token}` } });
    expect([asked.status, await asked.json()]).toMatchObject([200, { name: 'ci', namespace: 'acme' }]);
    expect((await fetch(`${after.url}/api/v1/token`)).status).toBe(401);
    expect(readFileSync(join(shop.store, 'auth-key'))).toEqual(key);
    const listed = await assay(reader, 'any', 'token', 'list', '--json', '--tokens', file);
    expect(listed.stdout).toContain('"ci"');
  });

  test('a result, state, a checkpoint and a saved folder are hits in the workspace and from the server', {
    timeout: 300_000,
  }, async () => {
    const [writer, reader] = releases(direction);
    const server = await serve(writer);
    const one = makeClone('one');
    const [plain, kept] = [stepWith(server.url), stateWith(server.url)];
    expect(await runStep(writer, one, ...plain)).toMatchObject({ outcome: 'miss', shared: true });
    expect(await runStep(writer, one, ...kept)).toMatchObject({ outcome: 'miss' });
    const long = checkpointWith(server.url, writer);
    expect((await assay(writer, one, 'run', '--json', ...long)).code).toBe(7);
    expect((await assay(writer, one, 'save', '--remote', server.url, 'a-key', 'in.txt')).code).toBe(0);

    rmSync(join(shop.folder, one, 'out.txt'));
    expect(await runStep(reader, one, ...plain)).toMatchObject({ outcome: 'hit-local' });
    await server.stop();

    const upgraded = await serve(reader);
    const two = makeClone('two');
    expect(await runStep(reader, two, ...stepWith(upgraded.url))).toMatchObject({ outcome: 'hit-remote' });
    writeFileSync(join(shop.folder, two, 'in.txt'), 'changed\n');
    await runStep(reader, two, ...stateWith(upgraded.url));
    expect(readFileSync(join(shop.folder, two, 'state.txt'), 'utf8')).toBe('content\nchanged\n');
    writeFileSync(join(shop.folder, two, 'in.txt'), 'content\n');
    expect((await assay(reader, two, 'run', '--json', ...checkpointWith(upgraded.url, reader))).code).toBe(0);
    expect(readFileSync(join(shop.folder, two, 'long.txt'), 'utf8')).toBe('1 half\n');
    rmSync(join(shop.folder, two, 'in.txt'));
    const restored = await assay(
      reader,
      two,
      'restore',
      '--exit-code',
      '--remote',
      upgraded.url,
      'a-key',
      'in.txt',
    );
    expect(restored.code).toBe(0);
    expect(readFileSync(join(shop.folder, two, 'in.txt'), 'utf8')).toBe('content\n');
  });
});

test.each([
  ['the release before', 'this version'],
  ['this version', 'the release before'],
])('a client of %s and one of %s share results by a server of either', { timeout: 300_000 }, async (name) => {
  const [writer, reader] = name === NOW.name ? [NOW, earlier.release] : [earlier.release, NOW];
  for (const [at, server] of [earlier.release, NOW].entries()) {
    const running = await serve(server);
    const { url } = running;
    for (const [scheme, protocol] of [url, url.replace('http:', 'grpc:')].entries()) {
      const [one, two] = [makeClone(`one ${at} ${scheme}`), makeClone(`two ${at} ${scheme}`)];
      const step = stepWith(protocol, `out of ${name} ${at} ${scheme}`);
      expect(await runStep(writer, one, ...step)).toMatchObject({ outcome: 'miss', shared: true });
      expect(await runStep(reader, two, ...step)).toMatchObject({ outcome: 'hit-remote' });
    }
    await running.stop();
  }
});

function stepWith(remote: string, word = 'result'): string[] {
  const command = `cat in.txt /etc/hostname > out.txt; echo ${word} >> out.txt`;
  return ['--remote', remote, '--input', 'in.txt', '--output', 'out.txt', '--', '/bin/sh', '-c', command];
}

/** Appends its input to its state. */
function stateWith(remote: string): string[] {
  const command = 'cat in.txt >> state.txt; echo made > made.txt';
  const declared = ['--input', 'in.txt', '--output', 'made.txt', '--state', 'state.txt'];
  return ['--remote', remote, ...declared, '--', '/bin/sh', '-c', command];
}

/** Fails after its first checkpoint, and ends well if it starts from one. Both releases get the same command. */
function checkpointWith(remote: string, { program }: Release): string[] {
  const inside = join(shop.folder, 'assay-inside');
  writeFileSync(inside, `exec ${program.join(' ')} checkpoint\n`);
  const command = [
    'if [ "$ASSAY_CHECKPOINT" = 0 ]; then',
    `  mkdir -p progress; echo half > progress/state; /bin/sh ${inside}; exit 7`,
    'fi',
    'echo "$ASSAY_CHECKPOINT $(cat progress/state)" > long.txt',
  ].join('\n');
  const declared = ['--input', 'in.txt', '--output', 'long.txt', '--checkpoint', 'progress'];
  return ['--remote', remote, ...declared, '--', '/bin/sh', '-c', command];
}
