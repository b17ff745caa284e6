// Verifies a whole store: every blob against its SHA-256, every result for missing blobs, some results by a
// restore. Damaged blobs are fetched again from the remote. An interrupted verify resumes where it stopped.

import type { Digest } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { refuseIfNoStore } from '../../../store/disk/fs/layout.ts';
import { openDiskStore } from '../../../store/open.ts';
import { ScrubJournal } from '../../../store/scrub/journal.ts';
import { newProgress, type ScrubProgress, scrub } from '../../../store/scrub/scrub.ts';
import { Throttle } from '../../../store/scrub/throttle.ts';
import type { ResultAddress, Store } from '../../../store/store.ts';
import { REMOTE } from '../../limits.ts';
import type { Remote } from '../../remote/remote.ts';
import { Sample } from './sample.ts';
import { type TestRestore, testRestore } from './test-restore.ts';

export interface VerifyRequest {
  readonly storeFolder: string;
  readonly bytesPerSecond?: number | undefined;
  /** How many results to restore. */
  readonly restores: number;
  /** Start from the beginning, whatever an earlier verify has checked. */
  readonly isAnew: boolean;
  /** Opens a new connection each time: a remote that fails for one blob may have the next. */
  readonly openRemote?: (() => Promise<Remote>) | undefined;
}

export interface VerifiedStore extends ScrubProgress {
  /** When the resumed part was started. */
  readonly resumedAt?: number | undefined;
  /** Damaged blobs that the remote replaced. */
  readonly healed: number;
  readonly restore: TestRestore;
}

export async function verify(
  request: VerifyRequest,
  onProgress: (scrubbed: ScrubProgress) => void,
): Promise<VerifiedStore> {
  refuseIfNoStore(request.storeFolder);
  const store = await openDiskStore({ directory: request.storeFolder });
  try {
    const journal = new ScrubJournal(request.storeFolder, Date.now);
    const earlier = request.isAnew ? undefined : journal.read();
    const unfinished = earlier?.finishedAt === undefined ? earlier : undefined;
    const healer = new Healer(store, request.openRemote);
    const sample = new Sample<ResultAddress>(request.restores);
    const scrubbed = await scrub(unfinished ?? newProgress(Date.now()), {
      inspection: await inspectionOf(store),
      throttle: request.bytesPerSecond === undefined ? undefined : new Throttle(request.bytesPerSecond),
      now: Date.now,
      onProgress(current) {
        journal.write(current);
        onProgress(current);
      },
      onDamage: (digest) => healer.heal(digest),
      onResult: (address) => sample.offer(address),
      onPage: store.trim,
    });
    if (!scrubbed) throw new AssayError('ASSAY_INTERNAL', 'the scrub stopped without a request');
    const restore = await testRestore(sample.taken, store);
    return { ...scrubbed, resumedAt: unfinished?.startedAt, healed: healer.healed, restore };
  } finally {
    await store.close();
  }
}

function inspectionOf(store: Store) {
  if (!store.inspect) throw new AssayError('ASSAY_INTERNAL', 'a store on disk can be inspected');
  return store.inspect();
}

class Healer {
  readonly #store: Store;
  readonly #openRemote: VerifyRequest['openRemote'];
  #faults = 0;
  healed = 0;

  constructor(store: Store, openRemote: VerifyRequest['openRemote']) {
    this.#store = store;
    this.#openRemote = openRemote;
  }

  /** A blob that the remote does not have stays missing until it is uploaded again. */
  async heal(digest: Digest): Promise<void> {
    if (!this.#openRemote || this.#faults >= REMOTE.healingFaults) return;
    const remote = await this.#openRemote();
    try {
      await remote.getBlobs([digest], async (_digest, content) => {
        await this.#store.blobs.put(digest, content);
      });
      this.healed++;
      this.#faults = 0;
    } catch {
      this.#faults++;
    } finally {
      await remote.close();
    }
  }
}
