// The disk engine: opens a store's folder and connects its parts.
// Several processes may have one folder open, and each may be killed at any moment.
import { tenantIn } from '../../core/namespace.ts';
import type { BootClock } from '../../system/process/uptime.ts';
import type { AccountSettings } from '../accounts.ts';
import type { LeaseRecords } from '../action-leases.ts';
import type { OnStoreEvent } from '../events.ts';
import type { History } from '../history.ts';
import {
  limitedBlobs,
  limitedHistory,
  limitedLabels,
  limitedRecords,
  limitedUploads,
} from '../layers/limit.ts';
import type { RawBlobs } from '../raw.ts';
import type { Inspection, LabelRecords, ResultRecords, Uploads } from '../store.ts';
import { Accounts } from './accounts/accounts.ts';
import { Holdings } from './accounts/holdings.ts';
import { createStore } from './create.ts';
import { DiskBlobs } from './files/blobs.ts';
import { Quarantine } from './files/quarantine.ts';
import { Sweeper, type Swept } from './files/sweep.ts';
import { faultOf } from './fs/faults.ts';
import { prepareLayout } from './fs/layout.ts';
import { Health } from './health.ts';
import { DiskActionLeases } from './index/action-leases.ts';
import { DiskHistory } from './index/history.ts';
import { Index } from './index/index.ts';
import { DiskLabels, labelBytes } from './index/labels.ts';
import { Leases } from './index/leases.ts';
import { LogicalClock } from './index/logical-clock.ts';
import { DiskResults } from './index/results.ts';
import { UploadRecords } from './index/upload-records.ts';
import { Eviction } from './space/eviction.ts';
import type { Reconciled } from './space/reconciliation.ts';
import type { Space, UsageSource } from './space/space.ts';
import { Spaces } from './space/spaces.ts';
import { DiskUploads } from './uploads/uploads.ts';

/** The part of an engine that each tenant has for itself. */
interface DiskTenantParts {
  readonly blobs: RawBlobs;
  readonly uploads: Uploads;
}

interface DiskEngine extends DiskTenantParts {
  tenant(namespace: string): DiskTenantParts;
  readonly records: ResultRecords;
  readonly labels: LabelRecords;
  readonly leases: LeaseRecords;
  readonly history: History;
  inspect(): Promise<Inspection>;
  /** Why the store can't be read or, with `isWritten`, written now. */
  fault(isWritten: boolean): Promise<string | undefined>;
  readonly space: Space;
  readonly holdings: Holdings;
  /** Removes staged files that no process will continue. */
  sweep(): Promise<Swept>;
  /** Unmaps the index if much of it is mapped. Nothing else in this process may use the store meanwhile. */
  trim(): Promise<void>;
  reconcile: Reconcile;
  close(): Promise<void>;
}

/** `pause` is awaited after each shard and page. It stops the reconciliation by throwing. */
export type Reconcile = (pause: (tookMs: number) => Promise<void>) => Promise<Reconciled>;

interface DiskEngineOptions {
  readonly onEvent: OnStoreEvent;
  readonly now: () => number;
  readonly clock: BootClock;
  readonly commitDelayMs: number;
  readonly leaseMs: number;
  readonly limit: (folder: string) => number;
  readonly accounts: readonly AccountSettings[];
}

export async function openDiskEngine(
  directory: string,
  { onEvent, now, clock, commitDelayMs, leaseMs, limit, accounts: settings }: DiskEngineOptions,
): Promise<DiskEngine> {
  const layout = await prepareLayout(directory, createStore);
  const index = Index.open(layout.index, commitDelayMs);
  const logicalClock = new LogicalClock(index.tables, clock, leaseMs);
  const leases = new Leases(index, logicalClock, onEvent);
  const uploadRecords = new UploadRecords(index.tables);
  const sweeper = new Sweeper(layout, uploadRecords, now, onEvent);
  const limitNow = () => {
    try {
      return limit(layout.index);
    } catch (cause) {
      throw faultOf('reading the size of the disk', cause);
    }
  };
  const accounts = await Accounts.open(settings, index.tenants, limitNow);
  const holdings = new Holdings(index, accounts);
  const eviction = new Eviction(layout, index, logicalClock, holdings);
  const quarantine = new Quarantine(layout.quarantine, now, limitNow);
  const usageSource: UsageSource = {
    usage: () => {
      try {
        const used = index.usage();
        return { ...used, files: used.files + uploadRecords.stagedBytes() + quarantine.bytes() };
      } catch (cause) {
        throw faultOf('reading the size of the store', cause);
      }
    },
    compact: () => index.byteCount.compact(),
  };
  const spaces = new Spaces(
    { source: usageSource, eviction, sweeper, uploads: uploadRecords, holdings, limit: limitNow },
    onEvent,
  );
  const limitsIn = (namespace: string) => spaces.limitsOf(accounts.holderOf(namespace));
  const space = spaces.store;
  const blobs = new DiskBlobs(layout, index, leases, accounts, quarantine, sweeper, onEvent);
  const uploads = new DiskUploads(layout, uploadRecords, blobs, sweeper);
  const health = new Health(layout, index);
  const records = limitedRecords(new DiskResults(index, leases, onEvent, holdings), limitsIn);
  const labels = new DiskLabels(index.tables, (address, bytes) =>
    index.listener?.labelChanged(address, bytes),
  );
  const history = limitedHistory(new DiskHistory(index.tables), space);
  const watched = (parts: DiskTenantParts): DiskTenantParts => ({
    blobs: { ...parts.blobs, put: health.watched(parts.blobs.put) },
    uploads: { ...parts.uploads, append: health.watched(parts.uploads.append) },
  });
  return {
    ...watched({ blobs: limitedBlobs(blobs, space), uploads: limitedUploads(uploads, space) }),
    records: { ...records, put: health.watched(records.put) },
    tenant(namespace) {
      const [name, holder] = [tenantIn(namespace), accounts.holderOf(namespace)];
      const limits = spaces.limitsOf(holder);
      return watched({
        blobs: limitedBlobs(blobs.ofTenant(name, holder), limits),
        uploads: limitedUploads(uploads.ofTenant(name, holder), limits),
      });
    },
    labels: limitedLabels(labels, limitsIn, labelBytes),
    leases: new DiskActionLeases(index.tables, layout.index, now),
    history: { ...history, put: health.watched(history.put) },
    async inspect() {
      const { DiskInspection } = await import('./inspection.ts');
      return new DiskInspection(index, blobs.unleased());
    },
    fault: (isWritten) => health.fault(isWritten),
    space,
    holdings,
    sweep: () => sweeper.sweep(),
    trim: () => index.tables.trim(),
    async reconcile(pause) {
      const { Reconciliation } = await import('./space/reconciliation.ts');
      // Throws if another store is in this one's place: its staged parts must not be swept.
      const reconciled = await new Reconciliation(layout, index, leases, blobs, onEvent).run(pause);
      await sweeper.sweep();
      return reconciled;
    },
    async close() {
      await uploads.close();
      await spaces.close();
      await sweeper.idle();
      await index.close();
    },
  };
}
