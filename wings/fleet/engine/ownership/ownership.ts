// Ownership: which database may delete the objects of a prefix. Every deletion of objects asks here first.
//
// The row of a fleet (fleet-row.ts) and an object in the bucket (fleet-object.ts) have the id of the fleet, an epoch, the
// database that owns the objects, and random marks of the rounds of its janitor. A round puts the newest mark of the row into the
// object, and then gives the row another one. So the object always has a mark that the row had a round earlier.
//
// Invariants:
// O1 A database deletes an object only after a claim, and asks again before each request that deletes: the object must name
//    this database, its fleet and its epoch, with a mark that the row remembers. An object that can't be read, is gone or
//    damaged, and a row that is gone, forbid it.
// O2 The object is read before the row. A row only gains marks, so a round beside that is no other database.
// O3 A database that has seen another epoch, another database or an unknown mark is stopped by its row, for good: a late PUT
//    that brings the old object back does not give it the right again. Only `assay db adopt` does.
// O4 The owner that finds an epoch which it has superseded writes its object again, and deletes nothing in that round.
// O5 An object is an orphan only if its name has the tag of this epoch (object-names.ts). So no database deletes as an
//    orphan what another one has written, whoever owns the prefix, then or later.
// O6 A standby that is promoted goes on, if it lacks less than the last round: it has the mark of the object.
//
// What is not excluded: a request to delete that was sent before the object changed, of at most FLEET.janitorRows names. Two
// copies of one data folder have the same rows: each goes on counting from there, and the first that reads a mark of the
// other stops. Until then, for at most two rounds, both delete what was condemned an hour ago, which is the same for both.
// PostgreSQL has no part in this if nobody restored anything, and a conditional PUT has none at all (0460).
import { AssayError } from '../../../../core/errors.ts';
import type { OnStoreEvent } from '../../../../store/events.ts';
import { FLEET } from '../../limits.ts';
import type { Queries } from '../index/database.ts';
import type { Objects } from '../objects.ts';
import { putObject, readObject } from './fleet-object.ts';
import { advance, type FleetRow, readState, stop } from './fleet-row.ts';
import { identifyFleet } from './identify.ts';
import { isOwnName, newName } from './object-names.ts';
import { judgeOwnership, type OwnershipVerdict } from './verdict.ts';

interface OwnershipOptions {
  readonly database: Queries;
  readonly objects: Objects;
  readonly onEvent: OnStoreEvent;
}

/** The right to delete, of one epoch. */
export interface DeletionRight {
  /** Throws ASSAY_FLEET_NOT_OWNER unless it still holds (O1). */
  confirm(): Promise<void>;
  /** Whether this database may take an object for its own orphan (O5). */
  isOwnName(name: string): boolean;
}

export class FleetOwnership {
  readonly #options: OwnershipOptions;
  /** What the row said last. Undefined until the object was compared with it, and after each loss of PostgreSQL. */
  #row: FleetRow | undefined;
  #identifying: Promise<void> | undefined;
  /** The alarm that was reported last, and in how many rounds since. */
  #reported: { readonly detail: string; rounds: number } | undefined;

  constructor(options: OwnershipOptions) {
    this.#options = options;
  }

  /** False while an alarm forbids deletions. Undefined: not known yet. */
  get isOwner(): boolean | undefined {
    if (this.#reported) return false;
    return this.#row && this.#row.alarm === null;
  }

  /** Orphans that wait for `assay db adopt --delete-orphans`. */
  get waitingOrphans(): number {
    return this.#row?.orphans ?? 0;
  }

  /** For an object that is about to be put. */
  newName(): string {
    return newName(this.isOwner ? this.#row?.epoch : undefined);
  }

  /** PostgreSQL may be another one when it is back. */
  forget(): void {
    this.#row = undefined;
  }

  /** Compares row and object, once; the first node of a fleet writes both. Throws ASSAY_FLEET_MISMATCH. */
  identify(): Promise<void> {
    if (this.#row) return Promise.resolve();
    this.#identifying ??= this.#identify().finally(() => {
      this.#identifying = undefined;
    });
    return this.#identifying;
  }

  async #identify(): Promise<void> {
    const { database, objects } = this.#options;
    const identity = await identifyFleet(database, objects).catch((error: unknown) => {
      if (isMismatch(error)) this.#report(error.message);
      throw error;
    });
    const verdict = judgeOwnership(identity, identity.object);
    if (verdict.kind === 'stopped') await this.#stop(identity.row, verdict);
    else this.#row = identity.row;
  }

  /** What another node has found out since. It asks PostgreSQL alone, and so decides nothing. */
  async look(): Promise<void> {
    await this.identify();
    this.#row = (await readState(this.#options.database)).row;
    if (this.#row?.alarm) this.#report(this.#row.alarm);
    else if (this.#row) this.#allClear();
  }

  /** Begins a round of the elected janitor. Undefined: it must not delete objects. */
  async claim(queries: Queries): Promise<DeletionRight | undefined> {
    const { objects } = this.#options;
    await this.identify();
    const { row, verdict } = await this.#judge(queries);
    if (!row || verdict.kind === 'stopped') return undefined;
    await putObject(objects, row);
    if (verdict.kind === 'outdated object' || !(await advance(queries, row))) return undefined;
    this.#allClear();
    this.#row = { ...row, alarm: null };
    return {
      confirm: async () => {
        const now = await this.#judge(queries);
        if (now.verdict.kind !== 'owner' || now.row?.epoch !== row.epoch)
          throw new AssayError(
            'ASSAY_FLEET_NOT_OWNER',
            'the owner has changed during a round of the janitor',
          );
      },
      isOwnName: (name) => isOwnName(name, row),
    };
  }

  async #judge(queries: Queries): Promise<{ row: FleetRow | undefined; verdict: OwnershipVerdict }> {
    // In this order (O2).
    const object = await readObject(this.#options.objects);
    const state = await readState(queries);
    const verdict = judgeOwnership(state, object);
    if (verdict.kind === 'stopped') await this.#stop(state.row, verdict);
    return { row: state.row, verdict };
  }

  /** The row tells the other nodes. */
  async #stop(
    row: FleetRow | undefined,
    { detail, isFinal }: Extract<OwnershipVerdict, { kind: 'stopped' }>,
  ): Promise<void> {
    this.#report(detail);
    if (!row) return this.forget();
    this.#row = { ...row, alarm: detail, isFinal };
    await stop(this.#options.database, row, detail, isFinal);
  }

  /** One line an hour tells the operator. */
  #report(detail: string): void {
    const isNews = this.#reported?.detail !== detail || this.#reported.rounds >= FLEET.alarmRounds;
    if (isNews) this.#options.onEvent({ type: 'not-owner', detail });
    this.#reported = { detail, rounds: isNews ? 1 : (this.#reported?.rounds ?? 0) + 1 };
  }

  #allClear(): void {
    if (this.#reported) this.#options.onEvent({ type: 'owner' });
    this.#reported = undefined;
  }
}

export function isMismatch(error: unknown): error is AssayError {
  return error instanceof AssayError && error.code === 'ASSAY_FLEET_MISMATCH';
}
