// V8's heap, while there is a crowd and before. The part where objects begin doubles whenever much of it survives, which
// thousands of connections that come at once make happen, and what it has taken it keeps. What they leave behind when they
// are cut waits in the other part until there is up to three times as much of it as of what is in use.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { SERVER } from '../core/limits.ts';

let tidiedAt = Number.NEGATIVE_INFINITY;

/**
 * V8 reads these when the one part or the other would grow; Bun has another engine, and takes no notice. In a crowd the
 * first stays as large as it is, and the second is tidied up when it has grown by a seventh. Before, as V8 thinks best.
 */
export function keepHeapSmall(isCrowded: boolean, now = performance.now()): void {
  setFlagsFromString(`--semi-space-growth-factor=${isCrowded ? 1 : 2}`);
  setFlagsFromString(`--heap-growing-percent=${isCrowded ? 15 : AS_V8_THINKS_BEST}`);
  if (!isCrowded || now < tidiedAt + SERVER.tidyMs) return;
  tidiedAt = now;
  tidyUp();
}

const AS_V8_THINKS_BEST = 0;

/** How far the second part may grow is decided each time when it has been tidied up: a crowd begins with that. */
function tidyUp(): void {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('globalThis.gc');
  if (typeof collect === 'function') collect();
}
