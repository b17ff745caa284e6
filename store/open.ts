// The order of the stack, from the disk to the caller, and why it is this one.
//
//   blobs     engine     keeps bytes, and leases what it says is there; what it gives back is unchecked
//             limit      nothing is written for which there is no room; directly on the engine, which makes it
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

import { openDiskEngine, type Reconcile } from './disk/engine.ts';
import type { Swept } from './disk/files/sweep.ts';
import { type Clock, uptimeClock } from './disk/fs/uptime.ts';
import type { Space } from './disk/space/space.ts';
import type { OnStoreEvent } from './events.ts';
import { checkingCompleteness } from './layers/completeness.ts';
import { recordingDivergence } from './layers/divergence.ts';
import { withEmptyBlob } from './layers/empty-blob.ts';
import { liveLabels } from './layers/labels.ts';
import { verified } from './layers/verify.ts';
import { STORE } from './limits.ts';
import { memoryEngine } from './memory/engine.ts';
import { bytesOf, type SizeLimit, UNLIMITED } from './size-limit.ts';
import type { Engine, Store } from './store.ts';

export interface StoreOptions {
  readonly onEvent?: OnStoreEvent;
}

export interface DiskStoreOptions extends StoreOptions {
  readonly directory: string;
  readonly now?: () => number;
  /** How long a commit waits for more to go with it: for a server, whose clients write side by side. */
  readonly commitDelayMs?: number;
  /** How long what was named in an answer stays. All processes that use a store should agree on it. */
  readonly leaseMs?: number;
  readonly maxSize?: SizeLimit;
  readonly clock?: Clock;
}

/** A store that may run out of room. */
export interface DiskStore extends Store {
  readonly space: Space;
  /** Removes staged files that nobody will continue. */
  readonly sweep: () => Promise<Swept>;
  /** Unmaps the index where much of it is mapped. Nobody else in this process may use the store meanwhile. */
  readonly trim: () => Promise<void>;
  /** Compares the index with the folder and mends what does not fit. */
  readonly reconcile: Reconcile;
}

export async function openDiskStore({
  directory,
  onEvent = ignore,
  now = Date.now,
  commitDelayMs = 0,
  leaseMs = STORE.leaseMs,
  maxSize = UNLIMITED,
  clock = uptimeClock(),
}: DiskStoreOptions): Promise<DiskStore> {
  const limit = (folder: string) => bytesOf(maxSize, folder);
  const engine = await openDiskEngine(directory, { onEvent, now, clock, commitDelayMs, leaseMs, limit });
  const { space, sweep, trim, reconcile } = engine;
  return {
    ...addLayers({ ...engine, blobs: verified(engine.blobs) }, onEvent),
    space,
    sweep,
    trim,
    reconcile,
  };
}

/** Its engine hands out the bytes that it was given, so there is nothing to verify. */
export function openMemoryStore({ onEvent = ignore }: StoreOptions = {}): Store {
  return addLayers(memoryEngine(), onEvent);
}

export function addLayers({ records, uploads, labels, ...engine }: Engine, onEvent: OnStoreEvent): Store {
  const blobs = withEmptyBlob(engine.blobs);
  const results = checkingCompleteness(recordingDivergence(records, blobs, onEvent), blobs, onEvent);
  return {
    blobs,
    results,
    uploads,
    labels: liveLabels(labels, results),
    inspect: engine.inspect,
    fault: engine.fault,
    close: () => engine.close(),
  };
}

function ignore(): void {}
