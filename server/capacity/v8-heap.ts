// V8's heap, while there is a crowd and before. The part where objects begin doubles whenever much of it survives, which
// thousands of connections that come at once make happen, and what it has taken it keeps: to look through it then takes as
// long as it is large, and everybody waits. What they leave behind when they are cut waits in the other part until there is
// up to three times as much of it as of what is in use.
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { SERVER } from '../limits.ts';

/** By how much the second part may grow, in percent, before it is tidied up (docs/MEASUREMENTS.md#0170, #0208). */
const GROWTH = { before: 200, inCrowd: 60 };

let tidiedAt = Number.NEGATIVE_INFINITY;

/**
 * Only this kind of collection makes the first part as small as it was at the beginning. It looks through everything
 * several times, 5 ms each for 25 MiB: what is much larger is looked through once.
 */
const THOROUGHLY = { type: 'major', execution: 'sync', flavor: 'last-resort' };
const ONCE = { type: 'major', execution: 'sync' };
const MUCH = 128 * 1024 * 1024;

/**
 * V8 reads these when the one part or the other would grow. In a crowd the first stays small. How far the second may grow
 * is decided each time when it has been tidied up: so a crowd begins with tidying up both.
 */
export function keepHeapSmall(isCrowded: boolean, now = performance.now()): void {
  setFlagsFromString(`--semi-space-growth-factor=${isCrowded ? 1 : 2}`);
  setFlagsFromString(`--heap-growing-percent=${isCrowded ? GROWTH.inCrowd : GROWTH.before}`);
  if (!isCrowded || now < tidiedAt + SERVER.heapCollectMs) return;
  tidiedAt = now;
  tidyUp();
}

function tidyUp(): void {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('globalThis.gc');
  if (typeof collect === 'function') collect(getHeapStatistics().used_heap_size < MUCH ? THOROUGHLY : ONCE);
}
