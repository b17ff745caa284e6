// The checkpoints of one action: numbered snapshots of its folders, under the action's key, here and at the
// remote. A run restores the newest complete one and continues from it.
//
// A checkpoint is complete if nothing in its folders changed while it was sealed. A step that writes several
// files, or writes in place, may still be caught between two writes. To choose the moment, call `assay
// checkpoint`, or rename finished files into the folder.
import { rmSync } from 'node:fs';
import type { CheckpointPlan } from '../../../client/action/checkpoint-plan.ts';
import { nameOfAction } from '../../../client/history/step-id.ts';
import type { KeyedAction } from '../../../client/inputs/keyed-action.ts';
import { REMOTE } from '../../../client/limits.ts';
import { refuseLinkedParents } from '../../../client/outputs/outputs.ts';
import { cleanUpKilledRuns } from '../../../client/outputs/run-records.ts';
import type { FencedBy } from '../../../client/remote/labels.ts';
import type { RunContext } from '../../../client/run/context.ts';
import { placeOf } from '../../../client/run/run-origin.ts';
import { type Fence, fenceText } from '../../../core/action-lease.ts';
import { digestOf, type Hash } from '../../../core/digest.ts';
import { AssayError, messageOf } from '../../../core/errors.ts';
import { parseNamespace } from '../../../core/namespace.ts';
import { type RelPath, toSystemPath } from '../../../core/path.ts';
import { ActionResult } from '../../../core/proto/generated/reapi.ts';
import { decodeResult } from '../../../core/result.ts';
import { makeFolder } from '../../../system/files/make-folder.ts';
import { CHECKPOINT } from '../limits.ts';
import { openSnapshotStore } from '../open.ts';
import { type Snapshot, takeSnapshot } from '../snapshot.ts';
import type { Restored, SnapshotStore } from '../snapshot-store.ts';
import { NewestUpload } from './newest-upload.ts';
import { encodeNote } from './note.ts';

export const CHECKPOINT_NAMESPACE = parseNamespace('checkpoint');

interface LabelledSnapshot {
  readonly label: string;
  readonly snapshot: Snapshot;
  readonly fenced: FencedBy | undefined;
}

export class Checkpoints {
  readonly plan: CheckpointPlan;
  readonly #workspace: string;
  readonly #key: Hash;
  readonly #step: string;
  readonly #context: RunContext;
  readonly #store: SnapshotStore | undefined;
  /** The number of the newest checkpoint; 0 if there is none. */
  #number = 0;
  /** The number of this run's last checkpoint. */
  #sealedNumber = 0;
  /** The labels of checkpoints that could not be restored. */
  readonly #refused: ReadonlySet<string>;
  /** The fingerprint of the newest checkpoint, or of the empty folders at the start. */
  #sealed = '';
  /** Operations run one at a time, in order. */
  #sealing: Promise<unknown> = Promise.resolve();
  readonly #uploads: NewestUpload<LabelledSnapshot>;
  /** The labels whose content is not dropped yet, oldest first: what this run sealed, and what it started from. */
  readonly #labels: string[] = [];
  /** The fence of the run's action lease. It stays when the lease is lost: then nothing more goes to the remote. */
  #fence: Fence | undefined;
  readonly #openedAt: number;
  #reportedBehind = false;
  /** The time that earlier runs spent on the restored checkpoint. */
  #earlierMs = 0;
  #startedAt = 0;
  #isPeriodicSealRunning = false;

  private constructor(
    action: KeyedAction,
    plan: CheckpointPlan,
    context: RunContext,
    snapshots: SnapshotStore | undefined,
    refused: ReadonlySet<string>,
  ) {
    this.#workspace = action.request.workspace;
    this.#key = action.key.hash;
    this.#step = action.request.name ?? nameOfAction(action.request);
    this.plan = plan;
    this.#context = context;
    this.#store = snapshots;
    this.#refused = refused;
    this.#openedAt = context.now();
    this.#uploads = new NewestUpload({
      send: async (_, { label, snapshot, fenced }) =>
        (await snapshots?.share(label, snapshot, fenced)) ?? false,
      fellBehind: (number, arrived) => this.#reportBehind(number, arrived),
    });
  }

  static async open(action: KeyedAction, plan: CheckpointPlan, context: RunContext): Promise<Checkpoints> {
    const folders = [...plan.folders].sort().join('\0');
    const fits = (paths: readonly RelPath[]) => paths.join('\0') === folders;
    const refused = new Set<string>();
    const onRefused = (label: string, why: string) => {
      refused.add(label);
      context.report({ type: 'checkpoint-skipped', checkpoint: numberIn(label), why });
    };
    const settings = { namespace: CHECKPOINT_NAMESPACE, fits, onRefused };
    const snapshots = await openSnapshotStore(settings, context.cache);
    return new Checkpoints(action, plan, context, snapshots, refused);
  }

  /**
   * Restores the newest complete checkpoint, or empties the folders. Returns its number; 0 if there is none.
   */
  restore(): Promise<number> {
    const placed = this.#sealing.then(() => this.#restoreNow());
    this.#sealing = placed.catch(() => undefined);
    return placed;
  }

  async #restoreNow(): Promise<number> {
    cleanUpKilledRuns(this.#workspace);
    const found = await this.#restoreNewest();
    for (const folder of this.plan.folders) {
      refuseLinkedParents(this.#workspace, folder);
      prepare(folder, toSystemPath(this.#workspace, folder), found === undefined);
    }
    this.#sealed = fingerprint(this.#takeSnapshot());
    this.#earlierMs = found?.madeInMs ?? 0;
    this.#startedAt = this.#context.now();
    if (found) this.#context.report({ type: 'resumed', checkpoint: found.number });
    return found?.number ?? 0;
  }

  get earlierMs(): number {
    return this.#earlierMs;
  }

  /** Seals a checkpoint. Returns its number; undefined if it failed. */
  seal(): Promise<number | undefined> {
    const sealed = this.#sealing.then(() => this.#sealOrReport());
    this.#sealing = sealed;
    return sealed;
  }

  /** The same for the timer: skipped while another periodic seal is running. */
  async sealPeriodically(): Promise<void> {
    if (this.#isPeriodicSealRunning) return;
    this.#isPeriodicSealRunning = true;
    await this.seal();
    this.#isPeriodicSealRunning = false;
  }

  /** Call this when the step has ended. A published result makes its checkpoints useless. */
  async finish(published: boolean): Promise<void> {
    await this.#sealing;
    if (!published) return this.#settleUploads();
    this.#uploads.stop();
    this.#store?.stopSharing();
    for (const label of this.#labels) await this.#drop(label);
    for (const folder of this.plan.folders) removeQuietly(toSystemPath(this.#workspace, folder));
  }

  /** Another machine may continue from the newest checkpoint, so its upload is awaited like any other. */
  async #settleUploads(): Promise<void> {
    const elapsed = this.#context.now() - this.#openedAt;
    await this.#uploads.finish(Math.max(REMOTE.uploadsMs, elapsed * REMOTE.uploadsShare));
    this.#reportedBehind = false;
    if (this.#store?.isShared && this.#uploads.arrived < this.#sealedNumber)
      this.#reportBehind(this.#sealedNumber, this.#uploads.arrived);
    this.#store?.stopSharing();
  }

  /** Reported once during the run and once at the end. */
  #reportBehind(sealed: number, arrived: number): void {
    if (!this.#reportedBehind) this.#context.report({ type: 'checkpoints-behind', sealed, arrived });
    this.#reportedBehind = true;
  }

  async #restoreNewest(): Promise<{ number: number; madeInMs: number } | undefined> {
    try {
      this.#noteEarlier(await this.#store?.newestLabel(`${this.#key}/`));
      const newest = await this.#store?.restore(this.#workspace, undefined, [`${this.#key}/`]);
      const found = newest ?? (this.#refused.size > 0 ? await this.#restoreOther() : undefined);
      return found && { number: numberIn(found.label), madeInMs: found.madeInMs };
    } catch (error) {
      this.#context.report({ type: 'store-unusable', why: messageOf(error) });
      return undefined;
    }
  }

  /** Those that the run with the newest one may have kept. */
  #noteEarlier(newest: string | undefined): void {
    this.#number = numberIn(newest);
    const prefix = newest?.slice(0, newest.lastIndexOf('/'));
    for (let number = Math.max(1, this.#number - this.plan.keep); number <= this.#number; number++)
      this.#labels.push(`${prefix}/${number}`);
  }

  /** A store that still has a damaged one names it as the newest again. So those before it are tried one by one. */
  async #restoreOther(): Promise<Restored | undefined> {
    const all = (await this.#store?.all(`${this.#key}/`)) ?? [];
    const left = all.filter(({ label }) => !this.#refused.has(label)).slice(0, CHECKPOINT.tried);
    for (const candidate of left) {
      const found = await this.#store?.restoreFrom(this.#workspace, candidate);
      if (found) return found;
    }
    return undefined;
  }

  async #sealOrReport(): Promise<number | undefined> {
    for (let attempt = 1; this.#store; attempt++) {
      try {
        await this.#sealOn(this.#store);
        break;
      } catch (error) {
        if (attempt < CHECKPOINT.attempts && isChange(error)) continue;
        this.#context.report({ type: 'unsealed', why: messageOf(error) });
        return undefined;
      }
    }
    return this.#number || undefined;
  }

  async #sealOn(snapshots: SnapshotStore): Promise<void> {
    const fence = this.#context.lease?.fence();
    if (fence !== 'lost') this.#fence = fence;
    const snapshot = this.#takeSnapshot();
    const content = fingerprint(snapshot);
    if (content === this.#sealed) return;
    if (fingerprint(this.#takeSnapshot()) !== content) throw changed();
    const doubt = this.#context.ownership?.publishRefusal();
    if (doubt !== undefined) throw new AssayError('ASSAY_OUTPUT_UNFIT', doubt);
    let number = this.#number + 1;
    // Another run of the same action may have taken the number, or the last ones were evicted.
    while ((await snapshots.save(this.#label(number), snapshot)) === 'taken') number++;
    this.#number = this.#sealedNumber = number;
    this.#sealed = content;
    const label = this.#label(number);
    this.#labels.push(label);
    const isLost = this.#context.lease?.fence() === 'lost';
    const fenced = this.#fence && { action: this.#key, fence: this.#fence };
    if (snapshots.isShared && !isLost) this.#uploads.offer(number, { label, snapshot, fenced });
    while (this.#labels.length > this.plan.keep) await this.#drop(this.#labels.shift() ?? label);
  }

  async #drop(label: string): Promise<void> {
    try {
      await this.#store?.drop(label);
    } catch {
      // It stays until it is evicted, and does no harm.
    }
  }

  #takeSnapshot(): Snapshot {
    const now = this.#context.now();
    const took = this.#earlierMs + (now - this.#startedAt);
    return takeSnapshot(this.#workspace, this.plan.folders, this.#context.cache.digests, now, {
      madeInMs: took,
      worker: placeOf(this.#context.caller) ?? '',
      note: encodeNote(this.#step, this.#fence),
    });
  }

  /** With the fence in its name: a run that lost its lease can't take the number of a newer one. */
  #label(number: number): string {
    return [this.#key, ...(this.#fence ? [fenceText(this.#fence)] : []), number].join('/');
  }
}

/** The command must not start with files of another run, so a folder that cannot be emptied ends the run. */
function prepare(folder: RelPath, place: string | Buffer, isEmptied: boolean): void {
  try {
    if (isEmptied) rmSync(place, { recursive: true, force: true });
    makeFolder(place);
  } catch (error) {
    const why = `the checkpoint folder ${folder} cannot be made or emptied: ${messageOf(error)}`;
    throw new AssayError('ASSAY_OUTPUT_UNFIT', why, { cause: error });
  }
}

/** A folder that stays is emptied by the next run. */
function removeQuietly(folder: string | Buffer): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {
    // Some file in it belongs to another user.
  }
}

export function numberIn(label: string | undefined): number {
  return Number(/\/(\d{1,9})$/.exec(label ?? '')?.[1] ?? 0);
}

/** The digest of the content, without the time. */
function fingerprint({ bytes }: Snapshot): string {
  const timeless = { ...decodeResult(bytes), executionMetadata: undefined };
  return digestOf(ActionResult.encode(timeless).finish()).hash;
}

function changed(): AssayError {
  return new AssayError('ASSAY_DIGEST_MISMATCH', 'the checkpoint folders changed while they were sealed');
}

function isChange(error: unknown): boolean {
  const changes: readonly string[] = [
    'ASSAY_DIGEST_MISMATCH',
    'ASSAY_SIZE_MISMATCH',
    'ASSAY_INPUT_UNREADABLE',
  ];
  return error instanceof AssayError && changes.includes(error.code);
}
