import { expect, test } from 'vitest';
import { digestOf } from '../../../core/digest.ts';
import { STORE } from '../../../store/limits.ts';
import { Child } from '../children/child.ts';
import { blobOf, committedBy, resultOf } from '../children/items.ts';
import { readFrom } from '../content.ts';
import { filesIn, useFolders } from '../folders.ts';

const SEED = 99;
const { folder, open } = useFolders();

test('several processes put the same blobs into one new store at once', async () => {
  const directory = folder();
  const count = 40;
  const children = Array.from({ length: 6 }, () => new Child('putter', directory, SEED, count));
  const lines = await Promise.all(children.map((child) => child.remainingLines()));
  await Promise.all(children.map((child) => child.end()));
  for (const printed of lines) expect(printed).toHaveLength(1 + 2 * count);

  const store = await open({ directory });
  const blobs = Array.from({ length: count }, (_, number) => blobOf(SEED, number));
  for (const bytes of blobs) expect((await readFrom(store, digestOf(bytes)))?.equals(bytes)).toBe(true);
  for (let number = 0; number < count; number++) {
    expect(await store.results.get(resultOf(SEED, number).address)).toBeDefined();
  }
  const large = blobs.filter(({ length }) => length > STORE.inlineBytes);
  expect(filesIn(directory, 'files')).toHaveLength(large.length);
  expect(filesIn(directory, 'staging')).toEqual([]);
});

/** Commits take longer on a disk, which hides races between processes. */
const IN_MEMORY = '/dev/shm';

test('processes open and close a store while others commit, and no commit is lost (decision 0280)', async () => {
  const directory = folder(IN_MEMORY);
  const [commits, opens] = [600, 150];
  const committers = ['a', 'b'].map((name) => new Child('committer', directory, name, commits));
  const openers = committers.map(() => new Child('opener', directory, opens));
  const lines = await Promise.all([...committers, ...openers].map((child) => child.remainingLines()));
  await Promise.all([...committers, ...openers].map((child) => child.end()));
  const [put, opened] = [[`put ${commits}`], [`opened ${opens}`]];
  expect(lines).toEqual([put, put, opened, opened]);

  const store = await open({ directory });
  const all = ['a', 'b'].flatMap((name) =>
    Array.from({ length: commits }, (_, number) => digestOf(committedBy(name, number))),
  );
  expect(await store.blobs.missing(all)).toEqual([]);
});

test('a process sees at once what another one has put', async () => {
  const directory = folder();
  const store = await open({ directory });
  const child = new Child('answerer', directory, SEED);
  expect(await child.line()).toBe('ready');
  for (let number = 0; number < 50; number++) {
    const digest = digestOf(blobOf(SEED, number));
    child.say(String(number));
    const before = store.blobs.missing([digest]);
    expect(await child.line()).toBe(String(number));
    expect(await store.blobs.missing([digest])).toEqual([]);
    await before;
  }
  await child.end();
});
