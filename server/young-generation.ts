// The part of V8's heap where objects begin. It doubles whenever much of it survives, which thousands of connections that
// come at once make happen, and what it has taken it keeps: half of what they cost. Held, it stays as large as it is.
import { setFlagsFromString } from 'node:v8';

/** V8 reads this each time that it would grow. Bun has another engine, and takes no notice. */
export function holdYoungGeneration(isHeld: boolean): void {
  setFlagsFromString(`--semi-space-growth-factor=${isHeld ? 1 : 2}`);
}
