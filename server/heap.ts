// V8's heap, while there is a crowd and before. The part where objects begin doubles whenever much of it survives, which
// thousands of connections that come at once make happen, and what it has taken it keeps. What they leave behind when they
// are cut waits in the other part until there is up to three times as much of it as of what is in use.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { SERVER } from '../core/limits.ts';

/** By how much the second part may grow, in percent, before it is tidied up (docs/decisions/0170). */
const GROWTH = { before: 200, inCrowd: 15 };

let tidiedAt = Number.NEGATIVE_INFINITY;

/**
 * V8 reads these when the one part or the other would grow; Bun has another engine, and takes no notice. In a crowd the
 * first stays as large as it is. How far the second may grow is decided each time when it has been tidied up: so a crowd
 * begins with that.
 */
export function keepHeapSmall(isCrowded: boolean, now = performance.now()): void {
  setFlagsFromString(`--semi-space-growth-factor=${isCrowded ? 1 : 2}`);
  setFlagsFromString(`--heap-growing-percent=${isCrowded ? GROWTH.inCrowd : GROWTH.before}`);
  if (!isCrowded || now < tidiedAt + SERVER.tidyMs) return;
  tidiedAt = now;
  tidyUp();
}

function tidyUp(): void {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('globalThis.gc');
  if (typeof collect === 'function') collect();
}
