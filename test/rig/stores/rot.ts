// A store in which one large blob has gone wrong.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { digestOf } from '../../../core/digest.ts';
import { describeTree } from '../tree.ts';

/** Flips a bit of a large blob where the store keeps it. */
export function rot(store: string, content: string): void {
  const { hash } = digestOf(Buffer.from(content));
  const file = describeTree(store)
    .find((line) => line.includes(`/${hash}-`))
    ?.split(' ')[0];
  if (!file) throw new Error('the store has no such blob');
  const bytes = readFileSync(join(store, file));
  bytes[1000] = (bytes[1000] ?? 0) ^ 1;
  writeFileSync(join(store, file), bytes);
}
