// Seeded schedules of runs that share an action: they take its lease, are paused, lose heartbeats and answers, save
// checkpoints and labels, publish, and wake up as zombies. All in one process; each answer is compared with a model.
// A stale fence never wins, and a newer one never loses.
import { expect, test } from 'vitest';
import { compareFences, type Fence, isSameFence } from '../../core/action-lease.ts';
import { parseNamespace } from '../../core/namespace.ts';
import type { LeaseRecord, LeaseRequest } from '../../store/action-leases.ts';
import { STORE } from '../../store/limits.ts';
import { addLayers } from '../../store/open.ts';
import type { Engine, LabelAddress, Store } from '../../store/store.ts';
import { Random } from '../rig/random.ts';
import { soak } from '../rig/soak.ts';
import { memoryEngine } from '../rig/stores/memory/engine.ts';
import { addressOf, contentOf, putOne, resultNaming } from './content.ts';

const SEED = Number(process.env.ASSAY_TEST_SEED ?? 1);
const SCHEDULES = soak(10_000);
const STEPS = 40;
const RUNS = ['a', 'b', 'c'] as const;

const ACTION = addressOf('action');
const CHECKPOINTS = parseNamespace('checkpoint');
const RESULT = { namespace: CHECKPOINTS, key: addressOf('a checkpoint').key };
const HOUR = STORE.guardedLabelMs;

/** What a run believes. A paused one, or one whose answers were lost, is wrong. */
interface Run {
  readonly name: (typeof RUNS)[number];
  fence: Fence | undefined;
  id: string;
}

class Schedule {
  readonly random: Random;
  now = 1_800_000_000_000;
  /** The newest lease, as the engine has committed it. */
  newest: LeaseRecord | undefined;
  /** Every fence that was committed, in this order. */
  readonly fences: Fence[] = [];
  readonly labels: { readonly label: string; readonly fence: Fence | undefined }[] = [];
  readonly results: string[] = [];
  readonly runs: readonly Run[] = RUNS.map((name) => ({ name, fence: undefined, id: '' }));
  readonly store: Store;
  readonly wrong: string[] = [];
  readonly counts = { granted: 0, held: 0, ended: 0, stale: 0, leased: 0, stored: 0, lost: 0, diverged: 0 };
  #names = 0;

  constructor(seed: number) {
    this.random = new Random(seed);
    this.store = addLayers(this.#watched(memoryEngine(new Map(), () => this.now)), () => {});
  }

  /** The engine, with others in between any two of its steps, and with a check at each commit. */
  #watched(engine: Engine): Engine {
    const { leases, labels } = engine;
    return {
      ...engine,
      leases: {
        get: (addresses) => this.#apart(() => leases.get(addresses)),
        nextFence: () => this.#apart(() => leases.nextFence()),
        removeBefore: async (until, most) => {
          const removed = await leases.removeBefore(until, most);
          if (removed > 0) this.newest = undefined;
          return removed;
        },
        put: (address, record, replacing) =>
          this.#apart(async () => {
            const isPut = await leases.put(address, record, replacing);
            if (isPut) this.#committed(record);
            return isPut;
          }),
      },
      labels: {
        ...labels,
        put: (address, key, replacing, lease) =>
          this.#apart(async () => {
            const isPut = await labels.put(address, key, replacing, lease);
            if (isPut) this.#labelled(address);
            return isPut;
          }),
      },
    };
  }

  async #apart<T>(step: () => Promise<T>): Promise<T> {
    for (let turns = this.random.below(6); turns > 0; turns--) await Promise.resolve();
    const done = await step();
    for (let turns = this.random.below(6); turns > 0; turns--) await Promise.resolve();
    return done;
  }

  #committed(record: LeaseRecord): void {
    const last = this.fences.at(-1);
    if (!last || !isSameFence(record.fence, last)) {
      if (last && compareFences(record.fence, last) < 0) this.wrong.push('a fence that does not grow');
      if (this.isLiving) this.wrong.push('a second lease while one is alive');
      this.fences.push(record.fence);
    }
    this.newest = record;
  }

  get isLiving(): boolean {
    const { newest, now } = this;
    return newest !== undefined && !newest.end && newest.since <= now && now < newest.until;
  }

  /** The fence is in the name, as clients write it. */
  #labelled({ label }: LabelAddress): void {
    const written = this.fences.find((fence) => label.includes(`/${fence.number}/`));
    if (written && this.newest && !isSameFence(written, this.newest.fence))
      this.wrong.push(`a stale fence has written ${label}`);
    if (!written && this.isLiving && this.newest && this.now - this.newest.since < HOUR)
      this.wrong.push(`${label} was written while the lease is held`);
    this.labels.push({ label, fence: written });
  }

  async acquire(run: Run): Promise<void> {
    run.id = this.random.below(4) === 0 && run.id !== '' ? run.id : this.#newId();
    const after =
      this.newest?.end?.reason === 'done' && this.random.below(3) > 0 ? this.newest.fence : undefined;
    const request: LeaseRequest = { id: run.id, holder: run.name, after };
    const acquired = await this.store.actionLeases?.acquire(ACTION, request);
    if (!acquired) return;
    this.counts[acquired.outcome]++;
    // A run whose answer is lost does not know that it holds the lease.
    if (acquired.outcome === 'granted' && this.random.below(8) > 0) run.fence = acquired.lease.fence;
  }

  async heartbeat({ fence, id }: Run): Promise<void> {
    if (!fence) return;
    const isHeld = await this.store.actionLeases?.heartbeat(ACTION, { id, fence });
    if (!isHeld) this.counts.lost++;
    else if (!this.fences.some((one) => isSameFence(one, fence))) this.wrong.push('a heartbeat of nobody');
  }

  async release(run: Run): Promise<void> {
    if (!run.fence) return;
    const reason = this.random.pick(['done', 'failed', 'unkept', 'cancelled'] as const);
    await this.store.actionLeases?.release(ACTION, { id: run.id, fence: run.fence }, { reason });
    // A zombie goes on with its fence.
    if (this.random.below(3) > 0) run.fence = undefined;
  }

  async save(run: Run): Promise<void> {
    const { fence } = run;
    const name = `${ACTION.key}/${fence ? `${fence.number}/` : ''}${run.name}${this.#names++}`;
    const [before, wasLiving] = [this.newest, this.isLiving];
    const address = { namespace: CHECKPOINTS, label: name };
    const outcome = await this.store.labels.put(address, RESULT.key, { lease: ACTION, fence }).catch(codeOf);
    if (outcome === 'stored') this.counts.stored++;
    else if (outcome === 'ASSAY_STALE_FENCE') this.counts.stale++;
    else if (outcome === 'ASSAY_LABEL_LEASED') this.counts.leased++;
    else this.wrong.push(`${name}: ${String(outcome)}`);
    // A run whose lease was the newest from the beginning to the end of the write is not refused.
    const isNewest = (one: LeaseRecord | undefined) => fence && one && isSameFence(one.fence, fence);
    if (outcome !== 'stored' && isNewest(before) && isNewest(this.newest))
      this.wrong.push(`${name} was refused`);
    if (outcome !== 'stored' && !fence && !wasLiving && before === this.newest)
      this.wrong.push(`${name} was refused without a lease`);
  }

  async publish(run: Run): Promise<void> {
    const bytes = resultNaming(await putOne(this.store, contentOf(run.name, 10)));
    const outcome = await this.store.results.put(ACTION, bytes);
    if (outcome === 'stored') this.results.push(run.name);
    else if (outcome === 'diverged') this.counts.diverged++;
  }

  /** Some steps at once, as by different runs. */
  async step(): Promise<void> {
    const steps = Array.from({ length: 1 + this.random.below(3) }, () =>
      this.one(this.random.pick(this.runs)),
    );
    await Promise.all(steps);
    const { actionLeaseMs } = STORE;
    const pauses = [0, 0, 1000, actionLeaseMs / 2, actionLeaseMs, 10 * actionLeaseMs, HOUR, -5000];
    this.now += this.random.pick(pauses);
    if (this.random.below(20) === 0) await this.store.actionLeases?.forgetEnded(100);
  }

  one(run: Run): Promise<void> {
    const chance = this.random.below(10);
    if (chance < 3) return this.acquire(run);
    if (chance < 5) return this.heartbeat(run);
    if (chance < 6) return this.release(run);
    return chance < 7 ? this.publish(run) : this.save(run);
  }

  #newId(): string {
    return String(++this.#names).padStart(32, '0');
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : error;
}

test(`in ${SCHEDULES} schedules a stale fence never wins, and a newer one never loses`, async () => {
  const counts: Record<string, number> = {};
  for (let seed = SEED; seed < SEED + SCHEDULES; seed++) {
    const schedule = new Schedule(seed);
    await schedule.store.results.put(RESULT, resultNaming());
    for (let step = 0; step < STEPS; step++) await schedule.step();
    expect(schedule.wrong, `ASSAY_TEST_SEED=${seed}`).toEqual([]);
    const newest = await schedule.store.labels.newest(CHECKPOINTS, [`${ACTION.key}/`]);
    expect(schedule.results.length, `ASSAY_TEST_SEED=${seed}`).toBeLessThanOrEqual(1);
    expect(newest?.label, `ASSAY_TEST_SEED=${seed}`).toBe(schedule.labels.at(-1)?.label);
    for (const [what, count] of Object.entries(schedule.counts)) counts[what] = (counts[what] ?? 0) + count;
  }
  // Each of them happened, so each was examined.
  for (const [what, count] of Object.entries(counts)) expect(count, what).toBeGreaterThan(SCHEDULES / 20);
}, 600_000);
