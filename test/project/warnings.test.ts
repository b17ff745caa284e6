// Every warning and error that a server logs is in docs/OPERATE.md, with what to do, and the page lists no other.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isSomeWingMissing } from './missing-wings.ts';
import { isTestOfWing, ROOT, sourcesOf } from './sources.ts';

/** What the log says of events of the store, and then their type. */
const EVENT = 'store: ';

function messagesIn(source: string): string[] {
  const calls = source.matchAll(/\.(?:warn|error)\(\s*(?:\{[^}]*\}|[\w.]+),\s*'(.+?)'/g);
  return [...calls].map(([, message = '']) => message);
}

function warningEvents(): string[] {
  const [, list = ''] = /const WARNINGS.*new Set\(\[([^\]]*)\]/.exec(read('server/log.ts')) ?? [];
  return [...list.matchAll(/'([a-z-]+)'/g)].map(([, type]) => `${EVENT}${type}`);
}

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

test('docs/OPERATE.md lists the warnings of the log, and says what to do about each', () => {
  const sources = ['server', 'store', 'wings'].flatMap(sourcesOf).filter((file) => !isTestOfWing(file));
  const logged = [...sources.flatMap((file) => messagesIn(read(file))), ...warningEvents()];
  expect(logged.length).toBeGreaterThan(20);
  const rows = [...read('docs/OPERATE.md').matchAll(/^\| `(.+?)` \| .{10,} \|$/gm)].map(
    ([, message]) => message,
  );
  // The page may name what a missing wing would log.
  const expected = isSomeWingMissing() ? [...rows, ...logged] : logged;
  expect(rows.toSorted()).toEqual([...new Set(expected)].toSorted());
});

test('a message is found in each way to write it', () => {
  const lines = [
    "log.warn({ a, b }, 'one');",
    "this.#log.error(\n  { code },\n  'two',\n);",
    "log.warn(fields, 'three');",
  ];
  expect(messagesIn(lines.join('\n'))).toEqual(['one', 'two', 'three']);
});
