// Opens a store: an engine with one layer for each promise. The order of the layers, from the disk up:
//
//   blobs     engine        stores bytes, and leases every blob that it reports as present
//             limit         admits a write only within the size limit; sits on the engine, which evicts
//             verify        checks every byte that is read; everything above relies on it
//             empty-blob    the empty blob is always present; above verify, because it has no stored bytes
//   results   engine        stores records, and replaces one only if it is still the record that was read
//             divergence    keeps the first result of a key; needs the engine's conditional replace
//             completeness  finds what a result names, and serves it only while all of that is present;
//                           outermost, so that an incomplete result never reaches divergence
//   uploads   engine        stores the parts; a finished upload enters like any other put
//   labels    engine        stores names
//             labels        serves a label only if its result is a hit; above all layers of results
//   leases    engine        stores the newest lease of each action
//             action-leases grants them, and says under which of them a label may be written
//   history   engine        stores documents; no layer, because no hit depends on it
//
// Results ask `missing` of the outermost layer of blobs. Each tenant has its own layers, on the blobs that the
// engine shows to it, and shares the records of results and labels.

import { type BootClock, uptimeClock } from '../system/process/uptime.ts';
import type { AccountSettings } from './accounts.ts';
import type { Holdings } from './disk/accounts/holdings.ts';
import { openDiskEngine, type Reconcile } from './disk/engine.ts';
import type { Swept } from './disk/files/sweep.ts';
import type { Space } from './disk/space/space.ts';
import type { OnStoreEvent } from './events.ts';
import { actionLeases } from './layers/action-leases.ts';
import { checkingCompleteness } from './layers/completeness.ts';
import { recordingDivergence } from './layers/divergence.ts';
import { withEmptyBlob } from './layers/empty-blob.ts';
import { liveLabels } from './layers/labels.ts';
import { reviewOf } from './layers/review.ts';
import { verified } from './layers/verify.ts';
import { STORE } from './limits.ts';
import { BoundedMap } from './shared/bounded-map.ts';
import { bytesOfLimit, type SizeLimit, UNLIMITED } from './size-limit.ts';
import type { Engine, Store, TenantParts } from './store.ts';

interface StoreOptions {
  readonly onEvent?: OnStoreEvent;
}

export interface DiskStoreOptions extends StoreOptions {
  readonly directory: string;
  readonly now?: () => number;
  /** How long a commit waits for more writes. For a server, whose clients write at the same time. */
  readonly commitDelayMs?: number;
  /** How long a blob that an answer named stays. All processes that use a store should agree on it. */
  readonly leaseMs?: number;
  readonly maxSize?: SizeLimit;
  /** Namespaces with a quota or a floor. */
  readonly accounts?: readonly AccountSettings[];
  readonly clock?: BootClock;
}

/** A store with a size limit. */
export interface DiskStore extends Store {
  readonly space: Space;
  /** What the accounts hold. */
  readonly holdings: Holdings;
  /** Removes staged files that no process will continue. */
  readonly sweep: () => Promise<Swept>;
  /** Unmaps the index if much of it is mapped. Nothing else in this process may use the store meanwhile. */
  readonly trim: () => Promise<void>;
  /** Compares the index with the folder and repairs the differences. */
  readonly reconcile: Reconcile;
  /** What the layers are on, for a copy of the whole store. */
  readonly engine: Engine;
}

export async function openDiskStore({
  directory,
  onEvent = ignore,
  now = Date.now,
  commitDelayMs = 0,
  leaseMs = STORE.leaseMs,
  maxSize = UNLIMITED,
  accounts = [],
  clock = uptimeClock(),
}: DiskStoreOptions): Promise<DiskStore> {
  const limit = (folder: string) => bytesOfLimit(maxSize, folder);
  const engine = await openDiskEngine(directory, {
    onEvent,
    now,
    clock,
    commitDelayMs,
    leaseMs,
    limit,
    accounts,
  });
  const { space, holdings, sweep, trim, reconcile } = engine;
  const verifiedEngine = {
    ...engine,
    blobs: verified(engine.blobs),
    tenant(namespace: string) {
      const { blobs, uploads } = engine.tenant(namespace);
      return { blobs: verified(blobs), uploads };
    },
  };
  return {
    ...addLayers(verifiedEngine, onEvent),
    engine: verifiedEngine,
    space,
    holdings,
    sweep,
    trim,
    reconcile,
  };
}

export function addLayers(engine: Engine, onEvent: OnStoreEvent): Store {
  const tenants = new BoundedMap<string, Store>(STORE.tenantViews);
  function tenant(namespace: string): Store {
    const known = tenants.get(namespace);
    if (known) return known;
    const added = layered(engine, engine.tenant(namespace), tenant, onEvent);
    tenants.set(namespace, added);
    return added;
  }
  return {
    ...layered(engine, engine, tenant, onEvent),
    review: reviewOf(engine.records, engine.labels),
    history: engine.history,
    actionLeases: actionLeases(engine.leases),
    inspect: engine.inspect,
  };
}

/** Each view of a store has its own layers: results and labels ask for the blobs of its tenant. */
function layered(
  { records, labels, leases, fault, close }: Engine,
  parts: TenantParts,
  tenant: (namespace: string) => Store,
  onEvent: OnStoreEvent,
): Store {
  const blobs = withEmptyBlob(parts.blobs);
  const results = checkingCompleteness(recordingDivergence(records, blobs, onEvent), blobs, onEvent);
  return {
    blobs,
    results,
    uploads: parts.uploads,
    labels: liveLabels(labels, results, leases),
    tenant,
    fault,
    close,
  };
}

function ignore(): void {}
