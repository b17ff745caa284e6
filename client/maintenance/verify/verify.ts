// Looks through a whole store and mends what a remote can mend: every blob against its SHA-256, every result for what it
// names, and some results by restoring them. An interrupted look goes on where it was.
import { existsSync, readdirSync } from 'node:fs';
import type { Digest } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { openDiskStore } from '../../../store/open.ts';
import { ScrubJournal } from '../../../store/scrub/journal.ts';
import { newProgress, type ScrubProgress, scrub } from '../../../store/scrub/scrub.ts';
import { Throttle } from '../../../store/scrub/throttle.ts';
import type { ResultAddress, Store } from '../../../store/store.ts';
import type { Remote } from '../../remote/remote.ts';
import { Sample } from './sample.ts';
import { type TestRestore, testRestore } from './test-restore.ts';

export interface VerifyRequest {
  readonly storeFolder: string;
  readonly bytesPerSecond?: number | undefined;
  /** How many results are restored. */
  readonly restores: number;
  /** From the beginning, whatever an earlier one has seen. */
  readonly isAnew: boolean;
  /** A new one each time: a remote that lacks one blob is done for, but may have the next. */
  readonly openRemote?: (() => Promise<Remote>) | undefined;
}

export interface Verified extends ScrubProgress {
  /** When the part that was not done again was begun. */
  readonly resumedAt?: number | undefined;
  /** Damaged blobs that the remote had. */
  readonly healed: number;
  readonly restore: TestRestore;
}

/** So many in a row that the remote could not give, and it is asked no more. */
const HEALING_FAULTS = 3;

export async function verify(
  request: VerifyRequest,
  onProgress: (tally: ScrubProgress) => void,
): Promise<Verified> {
  refuseIfNone(request.storeFolder);
  const store = await openDiskStore({ directory: request.storeFolder });
  try {
    const journal = new ScrubJournal(request.storeFolder, Date.now);
    const earlier = request.isAnew ? undefined : journal.read();
    const unfinished = earlier?.finishedAt === undefined ? earlier : undefined;
    const healer = new Healer(store, request.openRemote);
    const sample = new Sample<ResultAddress>(request.restores);
    const tally = await scrub(unfinished ?? newProgress(Date.now()), {
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
    if (!tally) throw new AssayError('ASSAY_INTERNAL', 'nobody told the scrub to stop, and it did');
    const restore = await testRestore(sample.taken, store);
    return { ...tally, resumedAt: unfinished?.startedAt, healed: healer.healed, restore };
  } finally {
    await store.close();
  }
}

/** Opening would begin one. */
function refuseIfNone(folder: string): void {
  const isThere = existsSync(folder) && readdirSync(folder).some((name) => /^v\d+$/.test(name));
  if (!isThere) throw new AssayError('ASSAY_NO_STORE', `${folder} holds no store`);
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

  /** What the remote can't give stays missing, and the next put heals it. */
  async heal(digest: Digest): Promise<void> {
    if (!this.#openRemote || this.#faults >= HEALING_FAULTS) return;
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
