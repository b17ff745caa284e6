// The limits of a fleet: bytes in the bucket (`--max-size`) and in PostgreSQL (`--max-index-size`).
//
// Guarantee: a write is refused while the fleet holds FLEET.refuseFrom times a limit, by figures that are at most
// FLEET.figuresMs old and what this node has stored since. What a client only announces counts for nothing. The janitor
// evicts long before.
import { AssayError } from '../../../core/errors.ts';
import { FLEET } from '../limits.ts';
import { type Holder, PART_NAMES } from './accounts/accounts.ts';

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

  /** Throws if that part is full, or has no room for so many bytes, or an account of the holder is at its quota. */
  refuseIfFull(part: keyof HeldBytes, bytes = 1, holder?: Holder): void {
    const full = holder?.accounts.find((account) => account.isFull(part, bytes));
    if (full)
      throw new AssayError(
        'ASSAY_STORE_FULL',
        `the quota of ${full.name} is ${full.quota[part]} bytes in ${PART_NAMES[part]}, it holds ${full.heldHere(part)}, and ${bytes} more do not fit; they do when enough of its own is evicted`,
      );
    const held = (this.#figures?.[part] ?? 0) + this.#stored[part];
    const limit = this.limits[part];
    if (held + bytes <= Math.floor(limit * FLEET.refuseFrom)) return;
    throw new AssayError(
      'ASSAY_STORE_FULL',
      `the fleet holds ${held} bytes in its ${NAMES[part]}, the limit is ${limit}, and ${bytes} more do not fit; they do when enough is evicted`,
    );
  }

  /** This node has stored so many bytes more. */
  stored(part: keyof HeldBytes, bytes: number, holder?: Holder): void {
    this.#stored[part] += bytes;
    for (const account of holder?.accounts ?? []) account.stored(part, bytes);
  }
}
