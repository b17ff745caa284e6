// The uploads in progress for entries of GitHub's cache. One job at a time reserves an entry.
// Every reservation has its own upload, so that no job finalizes the bytes of another. If there are too many,
// the namespace with the most loses one: a pull request can't keep main from saving.
//
// A job that died blocks its entry only for `reservationMs`. A paused job may come back: its upload is kept
// while its signed URL is valid. A call to finalize names a key and a size but no upload. If it could mean
// two different uploads, neither is used (service.ts).
//
// Reservations are in memory, because signed URLs end with this process, too. After a restart, a job that had
// reserved an entry is refused, at its upload or when it finalizes. The entry is free for the next save.
import { randomBytes } from 'node:crypto';
import type { Hash } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import type { Namespace } from '../../../core/namespace.ts';
import type { Store } from '../../../store/store.ts';
import type { ServerContext } from '../../context.ts';
import type { ServerLimits } from '../../limits.ts';

interface Upload {
  readonly id: string;
  /** The number of requests that are sending parts of it now. */
  arriving: number;
  movedAt: number;
  /** The job's call to finalize it was answered. */
  isAnswered: boolean;
}

interface Reserved {
  /** The namespace of the identity that made the newest reservation. */
  readonly owner: Namespace;
  readonly uploads: readonly Upload[];
}

const ofStore = new WeakMap<Store, Reservations>();

export function reservationsOf({ wholeStore, limits }: ServerContext): Reservations {
  const known = ofStore.get(wholeStore) ?? new Reservations(limits);
  ofStore.set(wholeStore, known);
  return known;
}

type Limits = Pick<ServerLimits, 'reservationMs' | 'signedUrlMs' | 'maxReservations'>;

export class Reservations {
  readonly #limits: Limits;
  readonly #now: () => number;
  /** The oldest first. */
  readonly #byEntry = new Map<Hash, Reserved>();

  constructor(limits: Limits, now: () => number = performance.now.bind(performance)) {
    this.#limits = limits;
    this.#now = now;
  }

  /**
   * Reserves an entry and returns the id of a new upload. Undefined while another job holds the reservation.
   */
  reserve(entry: Hash, owner: Namespace): string | undefined {
    const uploads = this.#uploadsOf(entry);
    if (uploads.some((upload) => this.#isAlive(upload))) return undefined;
    if (uploads.length === 0) this.#makeRoom(owner);
    const id = randomBytes(16).toString('hex');
    const upload = { id, arriving: 0, movedAt: this.#now(), isAnswered: false };
    this.#byEntry.set(entry, { owner, uploads: [...uploads, upload] });
    return id;
  }

  /** The uploads that a call to finalize the entry may mean. */
  uploadIdsOf(entry: Hash): string[] {
    return this.#uploadsOf(entry).map(({ id }) => id);
  }

  /** Keeps the reservation alive while a part of the upload arrives. */
  async whileArriving(entry: Hash, id: string, receive: () => Promise<void>): Promise<void> {
    const upload = this.#find(entry, id);
    if (!upload) return receive();
    upload.arriving++;
    try {
      await receive();
    } finally {
      upload.arriving--;
      upload.movedAt = this.#now();
    }
  }

  /** Records that the call to finalize was answered: another job may reserve the entry. */
  answered(entry: Hash, id: string): void {
    const upload = this.#find(entry, id);
    if (!upload) return;
    upload.isAnswered = true;
    upload.movedAt = this.#now();
  }

  #find(entry: Hash, id: string): Upload | undefined {
    return this.#byEntry.get(entry)?.uploads.find((upload) => upload.id === id);
  }

  #uploadsOf(entry: Hash): readonly Upload[] {
    return this.#byEntry.get(entry)?.uploads.filter((upload) => this.#isKept(upload)) ?? [];
  }

  #isAlive(upload: Upload): boolean {
    return upload.arriving > 0 || (!upload.isAnswered && this.#idleMs(upload) < this.#limits.reservationMs);
  }

  /** An upload is kept for a while after the answer: a client that did not get it calls again. */
  #isKept(upload: Upload): boolean {
    const { reservationMs, signedUrlMs } = this.#limits;
    return upload.arriving > 0 || this.#idleMs(upload) < (upload.isAnswered ? reservationMs : signedUrlMs);
  }

  #idleMs({ movedAt }: Upload): number {
    return this.#now() - movedAt;
  }

  #makeRoom(owner: Namespace): void {
    const { maxReservations } = this.#limits;
    if (this.#byEntry.size < maxReservations) return;
    for (const [entry, { uploads }] of this.#byEntry) {
      if (!uploads.some((upload) => this.#isAlive(upload))) this.#byEntry.delete(entry);
    }
    if (this.#byEntry.size < maxReservations) return;
    const oldest = this.#oldestOfLargest(owner);
    if (oldest === undefined)
      throw new AssayError('ASSAY_TOO_MANY_UPLOADS', `${this.#byEntry.size} entries are reserved`);
    this.#byEntry.delete(oldest);
  }

  /** Of the namespace with the most entries. Undefined if no other one has more than `owner` would have. */
  #oldestOfLargest(owner: Namespace): Hash | undefined {
    const entriesOf = Map.groupBy(this.#byEntry.keys(), (entry) => this.#byEntry.get(entry)?.owner);
    const [largest = []] = [...entriesOf.values()].sort((a, b) => b.length - a.length);
    const own = entriesOf.get(owner)?.length ?? 0;
    return largest.length > own + 1 ? largest[0] : undefined;
  }
}
