// The order of the stack, from the disk to the caller, and why it is this one.
//
//   blobs     engine     keeps bytes; what it gives back is unchecked
//             verify     nothing above ever sees a wrong byte, so it stands first
//             empty      the empty blob exists without being stored; above verify, since there is nothing to check
//   results   engine     keeps records, and replaces one only if it is still the one that was read
//             divergence the first result of a key stays; needs that conditional replacing, so it stands on the engine
//             completeness  bytes from outside become a result with references, and a result is given out only while
//                        they are all there; outermost, because what it refuses must not reach divergence
//   uploads   engine     keeps what has arrived; what is whole enters where every put does, below verify
//   labels    engine     keeps names
//             live       a label leads to a hit or is not found; above all of the results, since they know
//
// Both halves meet in `missing`: results ask the blobs below them, through the whole stack of blobs.
import { onlyComplete } from './completeness.ts';
import { openDiskEngine } from './disk/engine.ts';
import { recordingDivergence } from './divergence.ts';
import { withEmptyBlob } from './empty.ts';
import type { OnStoreEvent } from './events.ts';
import { liveLabels } from './labels.ts';
import { memoryEngine } from './memory.ts';
import type { Blobs, Inspection, LabelRecords, ResultRecords, Store, Uploads } from './store.ts';
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
  return stack({ ...engine, blobs: verified(engine.blobs, now) }, onEvent);
}

/** Its engine hands out the bytes that it was given, so there is nothing to verify. */
export function openMemoryStore({ onEvent = ignore }: StoreOptions = {}): Store {
  return stack(memoryEngine(), onEvent);
}

/** An engine whose blobs are checked already. */
export interface Engine {
  readonly blobs: Blobs;
  readonly records: ResultRecords;
  readonly uploads: Uploads;
  readonly labels: LabelRecords;
  readonly inspect?: (() => Promise<Inspection>) | undefined;
  close(): Promise<void>;
}

export function stack({ records, uploads, labels, ...engine }: Engine, onEvent: OnStoreEvent): Store {
  const blobs = withEmptyBlob(engine.blobs);
  const results = onlyComplete(recordingDivergence(records, blobs, onEvent), blobs, onEvent);
  return {
    blobs,
    results,
    uploads,
    labels: liveLabels(labels, results),
    inspect: engine.inspect,
    close: () => engine.close(),
  };
}

function ignore(): void {}
