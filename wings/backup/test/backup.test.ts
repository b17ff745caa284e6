// `assay store backup` and `assay store restore`, as an operator runs them beside a server.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { type Digest, digestOf, type Hash } from '../../../core/digest.ts';
import {
  DEFAULT_NAMESPACE,
  parseNamespace,
  protocolNamespace,
  UPLOAD_PARTS,
} from '../../../core/namespace.ts';
import { type DiskStore, openDiskStore } from '../../../store/open.ts';
import { baseEnvironment, DEFAULT_FORM, FORMS, type Ran, runProcess } from '../../../test/rig/assay.ts';
import { Random } from '../../../test/rig/random.ts';
import { ServerProcess } from '../../../test/rig/server.ts';
import { soak } from '../../../test/rig/soak.ts';
import { addressOf, contentOf, putOne, readFrom, resultNaming } from '../../../test/store/content.ts';

const LARGE = 100_000;
const CLIENTS = 4;

const SEED = Number(process.env.ASSAY_TEST_SEED ?? 20_261_119);
/** How long after its first word a backup is killed: at once, then at seeded moments. */
const MOMENTS_MS = momentsOf(soak(20));

function momentsOf(count: number): number[] {
  const random = new Random(SEED);
  return Array.from({ length: count }, (_, at) => (at === 0 ? 0 : random.below(400)));
}

let folder: string;
let source: string;
let backup: string;
let target: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-backup-'));
  [source, backup, target] = [join(folder, 'source'), join(folder, 'backup'), join(folder, 'target')];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function withStore<T>(directory: string, use: (store: DiskStore) => Promise<T>): Promise<T> {
  const store = await openDiskStore({ directory });
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

function assay(...args: readonly string[]): Promise<Ran> {
  return runProcess([...FORMS[DEFAULT_FORM], 'store', ...args], { cwd: folder, env: baseEnvironment() });
}

/** A store with one result of a small blob and a large one. */
function fill(): Promise<Digest[]> {
  return withStore(source, async (store) => {
    const digests = [
      await putOne(store, contentOf('small', 100)),
      await putOne(store, contentOf('large', LARGE)),
    ];
    await store.results.put(addressOf('result'), resultNaming(...digests));
    return digests;
  });
}

interface Acknowledged {
  readonly key: Hash;
  readonly result: Buffer;
  readonly outputs: readonly Buffer[];
}

/** Puts results of two blobs each, one after another, and keeps those that the server acknowledged. */
class Client {
  readonly acknowledged: Acknowledged[] = [];
  readonly #name: string;
  readonly #urlNow: () => string;
  #isStopped = false;

  constructor(name: string, urlNow: () => string) {
    this.#name = name;
    this.#urlNow = urlNow;
  }

  stop(): void {
    this.#isStopped = true;
  }

  async run(): Promise<void> {
    for (let number = 0; !this.#isStopped; number++) {
      const name = `${this.#name} ${number}`;
      const outputs = [contentOf(`small ${name}`, 300), contentOf(`large ${name}`, LARGE)];
      const result = resultNaming(...outputs.map(digestOf));
      const { key } = addressOf(name);
      const isKept =
        (await Promise.all(outputs.map((bytes) => this.#put(`cas/${digestOf(bytes).hash}`, bytes)))).every(
          Boolean,
        ) && (await this.#put(`ac/${key}`, result));
      if (isKept) this.acknowledged.push({ key, result, outputs });
    }
  }

  /** False if the server is down, too. */
  #put(path: string, body: Buffer): Promise<boolean> {
    return fetch(`${this.#urlNow()}/${path}`, { method: 'PUT', body }).then(
      ({ ok }) => ok,
      async () => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        return false;
      },
    );
  }
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 20));
}

test.for(MOMENTS_MS)(
  'every result that was acknowledged before its start is in a backup, with 4 writers and each side killed after %i ms',
  async (moment) => {
    await withStore(source, (store) =>
      Promise.all(Array.from({ length: 1500 }, (_, at) => putOne(store, contentOf(`filler ${at}`, 100)))),
    );
    let server = await ServerProcess.start(source);
    onTestFinished(() => server.kill());
    const clients = Array.from({ length: CLIENTS }, (_, at) => new Client(`client ${at}`, () => server.url));
    const running = clients.map((client) => client.run());
    await until(() => clients.every(({ acknowledged }) => acknowledged.length >= 5));
    const before = clients.flatMap(({ acknowledged }) => [...acknowledged]);

    const [program, ...rest] = FORMS[DEFAULT_FORM];
    const args = [...rest, 'store', 'backup', '--store', source, backup, '--json'];
    const killed = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    const ended = once(killed, 'exit');
    await once(killed.stderr, 'data');
    await wait(moment);
    killed.kill('SIGKILL');
    await Promise.all([ended, server.kill()]);
    const isFinished = killed.exitCode === 0;
    if (moment === 0) expect(isFinished).toBe(false);
    if (!isFinished)
      expect((await assay('restore', '--store', target, backup)).stderr).toContain('is not finished');
    server = await ServerProcess.start(source);
    if (!isFinished) {
      const ran = await assay('backup', '--store', source, backup, '--json');
      expect(ran).toMatchObject({ code: 0 });
      expect(JSON.parse(ran.stdout)).toMatchObject({ damaged: 0, hasAuthKey: false, hasTokens: false });
    }
    for (const client of clients) client.stop();
    await Promise.all(running);
    await server.stop();
    rmSync(source, { recursive: true });

    expect(await assay('restore', '--store', target, backup)).toMatchObject({ code: 0 });
    await withStore(target, async (store) => {
      for (const { key, result, outputs } of before) {
        expect((await store.results.get({ namespace: DEFAULT_NAMESPACE, key }))?.bytes.equals(result)).toBe(
          true,
        );
        for (const bytes of outputs)
          expect((await readFrom(store, digestOf(bytes)))?.equals(bytes)).toBe(true);
      }
    });
  },
);

/** Every file and folder below, with its permissions. */
function modesIn(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' }).map((path) =>
    (statSync(join(directory, path)).mode & 0o777).toString(8),
  );
}

test('only its user can read a backup and what is restored; secrets are in it only if they are asked for', async () => {
  await fill();
  const [key, tokens] = [join(source, 'auth-key'), join(folder, 'tokens.json')];
  writeFileSync(key, 'k'.repeat(32));
  writeFileSync(tokens, '{"tokens": []}');
  expect(await assay('backup', '--store', source, backup)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('The key that signs short tokens is not in it (--auth-key).'),
  });
  expect(readdirSync(backup).toSorted()).toEqual(['backup.json', 'v5']);
  const full = join(folder, 'full');
  const asked = ['--auth-key', '--tokens', tokens];
  expect(await assay('backup', '--store', source, ...asked, full)).toMatchObject({ code: 0 });
  expect(readdirSync(full).toSorted()).toEqual(['auth-key', 'backup.json', 'tokens.json', 'v5']);
  const restored = join(folder, 'restored.json');
  const ran = await assay('restore', '--store', target, '--tokens', restored, full);
  expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining(`The tokens are in ${restored}.`) });
  expect(readFileSync(restored)).toEqual(readFileSync(tokens));
  expect(readFileSync(join(target, 'auth-key'))).toEqual(readFileSync(key));
  expect(readdirSync(target).toSorted()).toEqual(['auth-key', 'v5']);
  for (const place of [backup, full, target])
    expect([...new Set(modesIn(place))].toSorted()).toEqual(['600', '700']);
  expect(statSync(restored).mode & 0o777).toBe(0o600);
});

test('an upload that was not finished has left nothing: its id and its parts are unknown to the restored store', async () => {
  const bytes = contentOf('upload', 2 * LARGE);
  const expected = digestOf(bytes);
  const parts = Object.values(UPLOAD_PARTS).flatMap((protocol) =>
    [DEFAULT_NAMESPACE, parseNamespace('acme/web')].map((within) =>
      addressOf('part', protocolNamespace(protocol, within)),
    ),
  );
  await fill();
  await withStore(source, async (store) => {
    const part = { expected, offset: 0, content: bytes.subarray(0, LARGE), isLast: false };
    expect(await store.uploads.append('id', part)).toMatchObject({ committed: LARGE });
    const piece = resultNaming(await putOne(store, contentOf('piece', 10)));
    for (const address of parts) await store.results.put(address, piece);
  });
  expect(await assay('backup', '--store', source, backup)).toMatchObject({ code: 0 });
  expect(await assay('restore', '--store', target, backup)).toMatchObject({ code: 0 });
  await withStore(target, async (store) => {
    expect(await store.uploads.status('id')).toBeUndefined();
    const late = { expected, offset: LARGE, content: bytes.subarray(LARGE), isLast: true };
    await expect(store.uploads.append('id', late)).rejects.toThrow('ASSAY_BAD_OFFSET');
    for (const address of parts) expect(await store.results.get(address)).toBeUndefined();
    expect(await store.results.get(addressOf('result'))).toBeDefined();
  });
});

test('a backup that was damaged later is restored without what is damaged', async () => {
  const [small, large] = await fill();
  await withStore(source, async (store) => {
    if (small) await store.results.put(addressOf('of the small one'), resultNaming(small));
  });
  expect(await assay('backup', '--store', source, backup)).toMatchObject({ code: 0 });
  const shard = join(backup, 'v5/files', large?.hash.slice(0, 2) ?? '');
  const [file = ''] = readdirSync(shard);
  writeFileSync(join(shard, file), contentOf('other bytes', LARGE));
  const ran = await assay('restore', '--store', target, backup);
  expect(ran).toMatchObject({ code: 1, stdout: expect.stringContaining('1 blob of the backup are damaged') });
  await withStore(target, async (store) => {
    expect(await store.results.get(addressOf('result'))).toBeUndefined();
    expect(await store.results.get(addressOf('of the small one'))).toBeDefined();
  });
});

test('a folder that holds anything is refused, and so is what is no finished backup', async () => {
  await fill();
  const refused = async (args: readonly string[], ...why: readonly string[]) => {
    const { code, stderr } = await assay(...args);
    expect(code).toBe(2);
    for (const part of why) expect(stderr).toContain(part);
  };
  mkdirSync(target);
  writeFileSync(join(target, 'mine'), '');
  await refused(['backup', '--store', source, target], 'ASSAY_NOT_EMPTY', 'holds mine, and no backup');
  await refused(
    ['backup', '--store', source, join(source, 'in')],
    'ASSAY_NOT_EMPTY',
    'is in the store itself',
  );
  await refused(['backup', '--store', target, backup], 'ASSAY_NO_STORE');
  await refused(['restore', '--store', join(folder, 'new'), source], 'ASSAY_NO_BACKUP', 'has no backup.json');
  expect(existsSync(backup)).toBe(false);
  expect(await assay('backup', '--store', source, backup)).toMatchObject({ code: 0 });
  await refused(['backup', '--store', source, backup], 'ASSAY_NOT_EMPTY', 'holds a finished backup, of 2');
  await refused(['restore', '--store', target, backup], 'ASSAY_NOT_EMPTY', 'holds mine');
  await refused(['restore', '--store', source, backup], 'ASSAY_NOT_EMPTY');
  const tokens = ['--tokens', join(folder, 'tokens.json')];
  await refused(['restore', '--store', join(folder, 'new'), ...tokens, backup], 'has no tokens file');
  await refused(['restore', backup], 'ASSAY_USAGE', 'give --store STORE');
  rmSync(join(target, 'mine'));
  expect(await assay('restore', '--store', target, backup)).toMatchObject({ code: 0 });
});
