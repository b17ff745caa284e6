// The disk engine: opens a store's folder and puts its parts together. Several processes may have one folder open, and
// each may be killed at any moment.
import type { OnStoreEvent } from '../events.ts';
import type { RawBlobs } from '../raw.ts';
import type { Inspection, LabelRecords, ResultRecords, Uploads } from '../store.ts';
import { DiskBlobs } from './blobs.ts';
import { found } from './founding.ts';
import { Index } from './index.ts';
import { DiskLabels } from './labels.ts';
import { prepareLayout } from './layout.ts';
import { Quarantine } from './quarantine.ts';
import { DiskResults } from './results.ts';
import { Sweeper } from './sweep.ts';
import { DiskUploads } from './uploads.ts';

export interface DiskEngine {
  readonly blobs: RawBlobs;
  readonly records: ResultRecords;
  readonly uploads: Uploads;
  readonly labels: LabelRecords;
  inspect(): Promise<Inspection>;
  close(): Promise<void>;
}

export interface DiskEngineOptions {
  readonly onEvent: OnStoreEvent;
  readonly now: () => number;
  readonly gatherMs: number;
}

export async function openDiskEngine(
  directory: string,
  { onEvent, now, gatherMs }: DiskEngineOptions,
): Promise<DiskEngine> {
  const layout = await prepareLayout(directory, found);
  const index = Index.open(layout.index, gatherMs);
  const sweeper = new Sweeper(layout, index, now, onEvent);
  const quarantine = new Quarantine(layout.quarantine, now);
  const blobs = new DiskBlobs(layout, index, quarantine, sweeper, onEvent);
  const uploads = new DiskUploads(layout, index.tables, blobs);
  return {
    blobs,
    records: new DiskResults(index, onEvent),
    uploads,
    labels: new DiskLabels(index.tables),
    async inspect() {
      const { DiskInspection } = await import('./inspection.ts');
      return new DiskInspection(index, blobs);
    },
    async close() {
      await uploads.close();
      await sweeper.idle();
      await index.close();
    },
  };
}
