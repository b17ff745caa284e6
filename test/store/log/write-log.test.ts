// The write log: whole lines from several processes, bounded files and memory, and a full disk that fails
// nothing.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { STORE } from '../../../store/limits.ts';
import { LogFiles, logFolder } from '../../../store/log/log-files.ts';
import { BatchedLog, labelEntry, openWriteLog, resultEntry } from '../../../store/log/write-log.ts';
import { makeQuickFolder } from '../../rig/folders.ts';
import { addressOf, resultWith } from '../content.ts';

const NOVEMBER = Date.UTC(2026, 10, 17, 11);
const WRITER = { name: 'ci', from: '192.0.2.7', via: 'ac', at: NOVEMBER };

let folder: string;
beforeEach(() => {
  folder = makeQuickFolder();
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const names = () => readdirSync(logFolder(folder)).sort();
const read = (name: string) => readFileSync(join(logFolder(folder), name), 'utf8');
const entries = (name: string): Record<string, unknown>[] =>
  read(name)
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
const anEntry = (number: number) =>
  resultEntry(addressOf(`${number}`), 'stored', resultWith({ exitCode: number }), WRITER);

test('an entry says who wrote what, when, from where, and with which outcome', async () => {
  const log = openWriteLog(folder, { now: () => NOVEMBER });
  const { key, namespace } = addressOf('a');
  log.add(resultEntry({ key, namespace }, 'replaced', Buffer.from('abc'), WRITER));
  log.add(labelEntry({ namespace, label: 'deps "1"\n' }, key, 'taken', WRITER));
  await log.close();
  const by = {
    at: '2026-11-17T11:00:00.000Z',
    identity: 'ci',
    from: '192.0.2.7',
    protocol: 'ac',
    namespace: '',
    key,
  };
  expect(entries('writes-2026-11.jsonl')).toEqual([
    {
      ...by,
      what: 'result',
      outcome: 'replaced',
      result: 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    },
    { ...by, what: 'label', outcome: 'taken', label: 'deps "1"\n' },
  ]);
});

test('lines become one write, and a month has a file of its own', async () => {
  const appended: string[] = [];
  let now = NOVEMBER;
  const files = new LogFiles(logFolder(folder));
  const log = new BatchedLog(
    {
      append: (lines, at) => {
        appended.push(lines);
        return files.append(lines, at);
      },
      close: () => files.close(),
    },
    { now: () => now },
  );
  for (let number = 0; number < 100; number++) log.add(anEntry(number));
  await vi.waitUntil(() => appended.length > 0, { timeout: 90_000 });
  expect(appended).toHaveLength(1);
  now = Date.UTC(2026, 11, 1);
  log.add(anEntry(100));
  await log.close();
  expect(names()).toEqual(['writes-2026-11.jsonl', 'writes-2026-12.jsonl']);
  expect(entries('writes-2026-11.jsonl')).toHaveLength(100);
  expect(entries('writes-2026-12.jsonl')).toHaveLength(1);
});

test('a large file gets another part, and the oldest files go when all are too large', async () => {
  const lines = `${'x'.repeat(999)}\n`;
  const limits = { logPartBytes: 2_000, logBytes: 10_000 };
  let files = new LogFiles(logFolder(folder), limits);
  for (let number = 0; number < 5; number++) await files.append(lines, NOVEMBER);
  expect(names()).toEqual(['writes-2026-11.0002.jsonl', 'writes-2026-11.0003.jsonl', 'writes-2026-11.jsonl']);
  await files.close();
  files = new LogFiles(logFolder(folder), limits);
  writeFileSync(join(logFolder(folder), 'notes.txt'), 'not ours');
  for (let number = 0; number < 20; number++) await files.append(lines, Date.UTC(2026, 11, 1));
  await files.close();
  const left = names();
  expect(left).toContain('notes.txt');
  expect(left).not.toContain('writes-2026-11.jsonl');
  expect(
    left.filter((name) => name !== 'notes.txt').reduce((sum, name) => sum + read(name).length, 0),
  ).toBeLessThanOrEqual(limits.logBytes);
  expect(left.at(-1)).toBe('writes-2026-12.0010.jsonl');
});

test('a file that somebody removes is made again', async () => {
  const files = new LogFiles(logFolder(folder));
  await files.append('1\n', NOVEMBER);
  rmSync(logFolder(folder), { recursive: true });
  await files.append('2\n', NOVEMBER);
  await files.close();
  expect(read('writes-2026-11.jsonl')).toBe('2\n');
});

test('a full disk costs entries, one warning a minute, and a note of how many', async () => {
  mkdirSync(logFolder(folder));
  const file = join(logFolder(folder), 'writes-2026-11.jsonl');
  symlinkSync('/dev/full', file);
  const warnings: number[] = [];
  let now = NOVEMBER;
  const log = openWriteLog(folder, { now: () => now, onTrouble: (_why, lost) => warnings.push(lost) });
  const flood = async () => {
    for (let number = 0; number < STORE.logLines; number++) log.add(anEntry(number));
    await new Promise(setImmediate);
  };
  for (let round = 0; round < 20; round++) await flood();
  await vi.waitUntil(() => warnings.length > 0, { timeout: 90_000 });
  now += STORE.logWarnMs;
  await flood();
  await vi.waitUntil(() => warnings.length === 2, { timeout: 90_000 });
  rmSync(file);
  await new Promise((resolve) => setTimeout(resolve, 2 * STORE.logDelayMs));
  log.add(anEntry(1));
  await log.close();
  const [note, ...rest] = entries('writes-2026-11.jsonl');
  expect(note).toMatchObject({ what: 'lost' });
  expect(Number(note?.entries) + rest.length).toBe(21 * STORE.logLines + 1);
  expect(warnings).toHaveLength(2);
});

test('lines beyond the bound of the memory are counted, not kept', async () => {
  let release = () => {};
  const stuck = new Promise<void>((resolve) => {
    release = resolve;
  });
  const appended: string[] = [];
  const log = new BatchedLog({
    append: async (lines) => {
      await stuck;
      appended.push(lines);
    },
    close: async () => {},
  });
  const total = 40_000;
  for (let number = 0; number < total; number++) log.add(anEntry(number));
  release();
  await log.close();
  const lines = appended.join('').split('\n').filter(Boolean);
  const note = lines.find((line) => line.includes('"lost"'));
  expect(JSON.parse(note ?? '{}').entries).toBe(total - (lines.length - 1));
  expect(Math.max(...appended.map((text) => text.length))).toBeLessThan(STORE.logBufferBytes + 1000);
});

test('a torn write does not damage the lines after it', async () => {
  const files = new LogFiles(logFolder(folder));
  await files.append(`${JSON.stringify({ a: 1 })}\n`, NOVEMBER);
  await files.close();
  const path = join(logFolder(folder), 'writes-2026-11.jsonl');
  truncateSync(path, 4);
  const log = openWriteLog(folder, { now: () => NOVEMBER });
  log.add(anEntry(1));
  await log.close();
  const [, ...rest] = read('writes-2026-11.jsonl').split('\n').filter(Boolean);
  expect(rest.map((line) => JSON.parse(line).what)).toEqual(['result']);
});

test('several processes append whole lines', async () => {
  const script = `
    import { openWriteLog } from ${JSON.stringify(join(import.meta.dirname, '../../../store/log/write-log.ts'))};
    const log = openWriteLog(process.argv[1]);
    for (let n = 0; n < 3000; n++) {
      log.add({ at: '', what: 'result', identity: process.argv[2], from: '', protocol: 'x'.repeat(n % 300), n });
      if (n % 50 === 0) await new Promise(setImmediate);
    }
    await log.close();`;
  const children = ['a', 'b', 'c'].map((name) =>
    spawn(process.execPath, ['--input-type=module', '-e', script, folder, name], { stdio: 'inherit' }),
  );
  for (const [code] of await Promise.all(children.map((child) => once(child, 'exit')))) expect(code).toBe(0);
  const all = names().flatMap(entries);
  expect(all).toHaveLength(9000);
  for (const name of ['a', 'b', 'c'])
    expect(all.filter(({ identity }) => identity === name).map(({ n }) => n)).toEqual(
      Array.from({ length: 3000 }, (_, n) => n),
    );
});
