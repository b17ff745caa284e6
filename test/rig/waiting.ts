// Two ways to wait for a fact instead of a time, so that a test passes on a busy machine too.
import { lstatSync } from 'node:fs';

/**
 * A line of `sh` that waits until the file exists. It gives up after a minute, so that a failing test ends.
 */
export function untilThere(path: string): string {
  return `n=0; while ! test -e '${path}' && [ $((n += 1)) -lt 3000 ]; do sleep 0.02; done`;
}

/** Above the granularity that the client assumes for a file system's clock. */
const SETTLED_MS = 100;

/** Waits until the file is old enough for the client to remember its stat. */
export async function settled(path: string): Promise<void> {
  while (Date.now() - lstatSync(path).ctimeMs < SETTLED_MS)
    await new Promise((resolve) => setImmediate(resolve));
}
