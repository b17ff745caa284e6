// The order of the stack, from the disk to the caller, and why it is this one.
//
//   blobs     engine     keeps bytes; what it gives back is unchecked
//             verify     nothing above ever sees a wrong byte, so it stands first
//             empty      the empty blob exists without being stored; above verify, since there is nothing to check
//   results   engine     keeps records, and replaces one only if it is still the one that was read
//             divergence the first result of a key stays; needs that conditional replacing, so it stands on the engine
//             completeness  bytes from outside become a result with references, and a result is given out only while
//                        they are all there; outermost, because what it refuses must not reach divergence
//
// Both halves meet in `missing`: results ask the blobs below them, through the whole stack of blobs.
import { onlyComplete } from './completeness.ts';
import { openDiskEngine } from './disk/engine.ts';
import { recordingDivergence } from './divergence.ts';
import { withEmptyBlob } from './empty.ts';
import type { OnStoreEvent } from './events.ts';
import { memoryEngine } from './memory.ts';
import type { Blobs, ResultRecords, Store } from './store.ts';
import { verified } from './verify.ts';

export interface StoreOptions {
  readonly onEvent?: OnStoreEvent;
}

export interface DiskStoreOptions extends StoreOptions {
  readonly directory: string;
  readonly now?: () => number;
  /** How long a commit waits for more to go with it: for a server, whose clients write side by side. */
  readonly gatherMs?: number;
}

export async function openDiskStore({
  directory,
  onEvent = ignore,
  now = Date.now,
  gatherMs = 0,
}: DiskStoreOptions): Promise<Store> {
  const engine = await openDiskEngine(directory, { onEvent, now, gatherMs });
  return stack(verified(engine.blobs, now), engine.records, onEvent, () => engine.close());
}

/** Its engine hands out the bytes that it was given, so there is nothing to verify. */
export function openMemoryStore({ onEvent = ignore }: StoreOptions = {}): Store {
  const engine = memoryEngine();
  return stack(engine.blobs, engine.records, onEvent, async () => {});
}

/** Around any engine whose blobs are checked already. */
export function stack(
  engineBlobs: Blobs,
  records: ResultRecords,
  onEvent: OnStoreEvent,
  close: Store['close'],
): Store {
  const blobs = withEmptyBlob(engineBlobs);
  const results = onlyComplete(recordingDivergence(records, blobs, onEvent), blobs, onEvent);
  return { blobs, results, close };
}

function ignore(): void {}
