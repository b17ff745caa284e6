// V8's heap, while there is a crowd and before. The part where objects begin doubles whenever much of it survives, which
// thousands of connections that come at once make happen, and what it has taken it keeps. What they leave behind when they
// are cut waits in the other part until there is up to three times as much of it as of what is in use.
import { setFlagsFromString } from 'node:v8';

/**
 * V8 reads these when the one part or the other would grow; Bun has another engine, and takes no notice. In a crowd the
 * first stays as large as it is, and the second is tidied up when it has grown by a seventh. Before, when it has doubled: how
 * far it may grow next is said by the last time that it was tidied up.
 */
export function keepHeapSmall(isCrowded: boolean): void {
  setFlagsFromString(`--semi-space-growth-factor=${isCrowded ? 1 : 2}`);
  setFlagsFromString(`--heap-growing-percent=${isCrowded ? 15 : 100}`);
}
