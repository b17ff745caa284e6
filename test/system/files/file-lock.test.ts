// The lock of the tokens file, between real processes that are killed at any moment.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { readTokens } from '../../../server/access/tokens-file.ts';
import { LockBusy, withFileLock } from '../../../system/files/file-lock.ts';
import { identityText, ownIdentity } from '../../../system/process/process-identity.ts';
import { Random } from '../../rig/random.ts';
import { soak } from '../../rig/soak.ts';

const SOURCES = join(import.meta.dirname, '../../../server/access');

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-lock-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});

/** Adds tokens until it is killed, and prints the id of each one that is on disk. */
const WRITER = `
  import { writeSync } from 'node:fs';
  const { makeToken, updateTokens } = await import(process.argv[1] + '/tokens-file.ts');
  const wanted = { name: 'writer', namespace: 'a', reads: [], rights: ['stats'] };
  writeSync(1, 'ready\\n');
  while (true) {
    const { entry } = makeToken(wanted, 0);
    await updateTokens(process.argv[2], (entries) => [...entries, entry]);
    writeSync(1, entry.id + '\\n');
  }`;

class Writer {
  readonly child: ChildProcess;
  #said = '';

  constructor(file: string) {
    this.child = spawn(process.execPath, ['--input-type=module', '-e', WRITER, SOURCES, file], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#said += text;
    });
    onTestFinished(() => {
      this.child.kill('SIGKILL');
    });
  }

  /** The ids that it printed whole. */
  get ids(): string[] {
    return this.#said.split('\n').filter((line) => /^[0-9a-f]{12}$/.test(line));
  }

  async until(lines: number): Promise<void> {
    while (this.#said.split('\n').length <= lines) await once(this.child.stdout ?? this.child, 'data');
  }

  async kill(): Promise<void> {
    const closed = once(this.child, 'close');
    this.child.kill('SIGKILL');
    await closed;
  }
}

test('writers that are killed at any moment lose nothing that they said is on disk', async () => {
  const file = join(folder, 'tokens.json');
  const random = new Random(24);
  const all: Writer[] = [];
  const start = () => {
    const writer = new Writer(file);
    all.push(writer);
    return writer;
  };
  const running = [start(), start(), start()];
  for (let round = 0; round < soak(120, 6); round++) {
    const index = random.below(running.length);
    const victim = running[index] ?? start();
    await victim.until(random.below(4));
    for (let turns = random.below(300); turns > 0; turns--) await new Promise(setImmediate);
    await victim.kill();
    running[index] = start();
  }
  for (const writer of running) await writer.until(2);
  for (const writer of running) await writer.kill();
  const kept = new Set(readTokens(file)?.map(({ id }) => id));
  const said = all.flatMap(({ ids }) => ids);
  expect(said.length).toBeGreaterThan(5);
  expect(said.filter((id) => !kept.has(id))).toEqual([]);
  // The next change removes what the dead left: a claim that is empty only when it is old.
  await withFileLock(`${file}.lock`, () => {});
  const left = readdirSync(folder).filter((name) => name.includes('.lock'));
  for (const name of left) {
    expect(name).toMatch(/\.claim$/);
    expect(statSync(join(folder, name)).size).toBe(0);
    utimesSync(join(folder, name), new Date(), new Date(Date.now() - 100_000));
  }
  await withFileLock(`${file}.lock`, () => {});
  expect(readdirSync(folder).filter((name) => name.includes('.lock'))).toEqual([]);
}, 600_000);

const TIMES = { waitMs: 50, abandonedMs: 60_000 };

test('a live holder keeps the lock, and who waits too long is refused', async () => {
  const path = join(folder, 'lock');
  const entered = await withFileLock(path, async () => {
    await expect(withFileLock(path, () => {}, TIMES)).rejects.toThrow(
      new LockBusy(`${path}: process ${process.pid} holds it`),
    );
    return 'entered';
  });
  expect(entered).toBe('entered');
});

test('a holder that cannot be seen counts as dead when its lock is old, and not before', async () => {
  const path = join(folder, 'lock');
  const foreign = {
    id: '00000000-0000-4000-8000-000000000000',
    boot: 'another machine',
    process: identityText({ ...ownIdentity(), started: '1' }),
  };
  for (const content of [JSON.stringify(foreign), '', 'null', '{"id": "../../x", "process": "1-1-1"}']) {
    writeFileSync(path, content);
    await expect(withFileLock(path, () => {}, TIMES)).rejects.toThrow(LockBusy);
    utimesSync(path, new Date(), new Date(Date.now() - 100_000));
    await expect(withFileLock(path, () => 'mine', TIMES)).resolves.toBe('mine');
  }
});

test('a holder whose PID another process has now is dead', async () => {
  const path = join(folder, 'lock');
  await withFileLock(path, () => {
    const own = JSON.parse(readFileSync(path, 'utf8'));
    writeFileSync(
      `${path}-copy`,
      JSON.stringify({
        ...own,
        id: '00000000-0000-4000-8000-000000000001',
        process: identityText({ ...ownIdentity(), started: '1' }),
      }),
    );
  });
  await expect(withFileLock(`${path}-copy`, () => 'mine', TIMES)).resolves.toBe('mine');
});

test('a holder learns that another process took the lock over', async () => {
  const path = join(folder, 'lock');
  await withFileLock(path, (lock) => {
    lock.check();
    writeFileSync(path, '{}');
    expect(() => lock.check()).toThrow('took the lock over');
  });
  expect(readFileSync(path, 'utf8')).toBe('{}');
});
