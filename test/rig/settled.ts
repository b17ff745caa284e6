// What has just been made is too fresh to be remembered until the clock has moved on.
import { lstatSync } from 'node:fs';

/** Above what the client takes for the granularity of a clock. */
const SETTLED_MS = 100;

export async function settled(path: string): Promise<void> {
  while (Date.now() - lstatSync(path).ctimeMs < SETTLED_MS)
    await new Promise((resolve) => setImmediate(resolve));
}
