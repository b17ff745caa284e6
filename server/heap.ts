// V8's heap while there is a crowd. The part where objects begin doubles whenever much of it survives, which thousands of
// connections that come at once make happen, and what it has taken it keeps. What they leave behind when they are cut waits
// in the other part until there is up to three times as much of it as of what is in use. Held, the one stays as large as it
// is, and the other is tidied up when it has grown by a third.
import { setFlagsFromString } from 'node:v8';

/** V8 reads these each time that the one or the other would grow. Bun has another engine, and takes no notice. */
export function holdHeap(isHeld: boolean): void {
  setFlagsFromString(`--semi-space-growth-factor=${isHeld ? 1 : 2}`);
  setFlagsFromString(`--heap-growing-percent=${isHeld ? 33 : 0}`);
}
