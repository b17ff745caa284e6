// The limits of a fleet: bytes in the bucket (`--max-size`) and in PostgreSQL (`--max-index-size`).
//
// Guarantee: a write is refused while the fleet holds FLEET.refuseFrom times a limit, by figures that are at most
// FLEET.figuresMs old, what this node has stored since, and what it is receiving. What a client only announces counts for
// nothing, unless it could never fit. The janitor evicts long before. No refusal says how much is held, or depends on an
// announced size: either would tell what others store.
import { AssayError } from '../../../core/errors.ts';
import { FLEET } from '../limits.ts';
import { type FleetHolder, PART_NAMES } from './accounts/accounts.ts';

/** Bytes in the bucket, with those of unfinished uploads, and in PostgreSQL. */
export interface HeldBytes {
  readonly bucket: number;
  readonly index: number;
}

/** What the janitor has found last. */
export interface FleetFigures extends HeldBytes {
  /** Objects that are still to be deleted. */
  readonly condemned: number;
  /** Unfinished uploads in parts. */
  readonly uploads: number;
}

const NAMES = { bucket: 'bucket (--max-size)', index: 'PostgreSQL (--max-index-size)' } as const;

export class FleetSpace {
  /** Infinite without one. */
  readonly limits: HeldBytes;
  #figures: FleetFigures | undefined;
  readonly #stored = { bucket: 0, index: 0 };
  /** Of the bucket, at this node. */
  #receiving = 0;

  constructor(limits: HeldBytes) {
    this.limits = limits;
  }

  /** Undefined until the first are read. */
  get figures(): FleetFigures | undefined {
    return this.#figures;
  }

  set figures(figures: FleetFigures) {
    this.#figures = figures;
    Object.assign(this.#stored, { bucket: 0, index: 0 });
  }

  get hasTooManyUploads(): boolean {
    return (this.#figures?.uploads ?? 0) >= FLEET.maxUploads;
  }

  /** Throws if content of that size could never fit into the bucket. */
  refuseAnnounced(bytes: number, holder?: FleetHolder): void {
    const quotas = (holder?.accounts ?? []).map(({ quota }) => quota.bucket);
    const most = Math.floor(Math.min(this.limits.bucket, ...quotas) * FLEET.refuseFrom);
    if (bytes > most)
      throw new AssayError('ASSAY_STORE_FULL', `${bytes} bytes never fit: at most ${most} do`);
  }

  /** Throws if that part is full, or has no room for so many bytes, or an account of the holder is at its quota. */
  refuseIfFull(part: keyof HeldBytes, bytes = 1, holder?: FleetHolder): void {
    const full = holder?.accounts.find((account) => account.isFull(part, bytes));
    if (full)
      throw new AssayError(
        'ASSAY_STORE_FULL',
        `${bytes} bytes more do not fit into the quota of ${full.name}, ${full.quota[part]} bytes in ${PART_NAMES[part]}; they do when enough of its own is evicted`,
      );
    const receiving = part === 'bucket' ? this.#receiving : 0;
    const held = (this.#figures?.[part] ?? 0) + this.#stored[part] + receiving;
    const limit = this.limits[part];
    if (held + bytes <= Math.floor(limit * FLEET.refuseFrom)) return;
    throw new AssayError(
      'ASSAY_STORE_FULL',
      `${bytes} bytes more do not fit into the limit of the ${NAMES[part]}, ${limit} bytes; they do when enough is evicted`,
    );
  }

  /** For content that goes to the bucket. To be ended when it is stored, or was refused. */
  receive(holder?: FleetHolder): Incoming {
    let received = 0;
    const add = (bytes: number) => {
      received += bytes;
      this.#receiving += bytes;
      for (const account of holder?.accounts ?? []) account.receiving += bytes;
    };
    return {
      grow: (size) => {
        this.refuseIfFull('bucket', size - received, holder);
        add(size - received);
      },
      end: () => add(-received),
    };
  }

  /** This node has stored so many bytes more. */
  stored(part: keyof HeldBytes, bytes: number, holder?: FleetHolder): void {
    this.#stored[part] += bytes;
    for (const account of holder?.accounts ?? []) account.stored(part, bytes);
  }
}

/** Content that arrives. Many at once must not each fit alone, and together be far above the limit. */
export interface Incoming {
  /** So many bytes have arrived in all. Throws as `refuseIfFull` does. */
  grow(size: number): void;
  end(): void;
}
