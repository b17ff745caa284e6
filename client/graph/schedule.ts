// Runs steps side by side, each after those that it depends on. A few may run their commands; more may be under way that look
// for their results, fetch them and put outputs in place, or wait for a turn to run their own: a network is waited for, not
// worked on. A step whose dependency did not come through is skipped; after a failure nothing new begins, unless it is to
// keep going with what does not depend on the failed one.
import type { Step } from '../config/step.ts';

export interface ScheduleOptions {
  /** Commands at once. */
  readonly jobs: number;
  /** Steps that are under way besides. */
  readonly ahead: number;
  readonly keepGoing: boolean;
  /** Becomes true when somebody wants it to end: what runs is waited for, nothing new begins. */
  isCancelled(): boolean;
}

/** All that is asked of a step here. */
type Ordered = Pick<Step, 'id' | 'dependsOn'>;

export interface StepCallbacks<S extends Ordered> {
  /** True if those that depend on it may go on. Never rejects. */
  run(step: S, slot: ScheduleSlot): Promise<boolean>;
  skip(step: S, why: string): void;
  /** It asked for its slot, and others come first. */
  waits(step: S): void;
  /** It has waited, and may run its command. */
  resumes(step: S): void;
}

export interface ScheduleSlot {
  /** Resolves when the step may run its command, which it may until it ends; or to why it no longer may. */
  acquire(): Promise<string | undefined>;
  /** Why it may not begin its command any more, if that is so. */
  refusal(): string | undefined;
}

/** `order`: dependencies first. */
export function schedule<S extends Ordered>(
  order: readonly S[],
  options: ScheduleOptions,
  callbacks: StepCallbacks<S>,
): Promise<void> {
  return new Promise((resolve) => new Schedule(order, options, callbacks, resolve).advance());
}

interface Waiting<S> {
  readonly step: S;
  resume(refusal: string | undefined): void;
}

class Schedule<S extends Ordered> {
  readonly #options: ScheduleOptions;
  readonly #callbacks: StepCallbacks<S>;
  readonly #end: () => void;
  readonly #followers: ReadonlyMap<string, readonly S[]>;
  /** How many steps a step still waits for. */
  readonly #before: Map<string, number>;
  readonly #ready: S[];
  readonly #waiting: Waiting<S>[] = [];
  /** Those that must not run, and because of whom. */
  readonly #broken = new Map<string, string>();
  readonly #commands = new Set<string>();
  #underWay = 0;
  #isLookingAhead = false;
  #stopped: string | undefined;

  constructor(order: readonly S[], options: ScheduleOptions, callbacks: StepCallbacks<S>, end: () => void) {
    this.#options = options;
    this.#callbacks = callbacks;
    this.#end = end;
    const inOrder = new Set(order.map(({ id }) => id));
    this.#before = new Map(
      order.map(({ id, dependsOn }) => [id, dependsOn.filter((one) => inOrder.has(one)).length]),
    );
    this.#followers = followersOf(order);
    this.#ready = order.filter(({ id }) => this.#before.get(id) === 0);
  }

  advance(): void {
    while (this.#underWay < this.#options.jobs && this.#beginNext());
    this.#grantSlots();
    if (this.#underWay === 0) this.#end();
    else this.#lookAhead();
  }

  /**
   * One more in each turn of the event loop: a step that has nothing to wait for is through before the next begins, and
   * takes the time that it takes alone.
   */
  #lookAhead(): void {
    const { jobs, ahead } = this.#options;
    if (this.#isLookingAhead || this.#ready.length === 0 || this.#underWay >= jobs + ahead) return;
    this.#isLookingAhead = true;
    setImmediate(() => {
      this.#isLookingAhead = false;
      if (this.#ready.length === 0) return;
      this.#beginNext();
      this.advance();
    });
  }

  /** False if there is none. */
  #beginNext(): boolean {
    for (let step = this.#ready.shift(); step; step = this.#ready.shift()) {
      const broken = this.#broken.get(step.id);
      const refusal = broken === undefined ? this.#refusal() : `${broken} did not come through`;
      if (refusal === undefined) {
        this.#run(step);
        return true;
      }
      this.#callbacks.skip(step, refusal);
      this.#settle(step, false);
    }
    return false;
  }

  #run(step: S): void {
    this.#underWay++;
    void this.#callbacks
      .run(step, { acquire: () => this.#acquireSlot(step), refusal: () => this.#refusal() })
      .then((cameThrough) => {
        this.#underWay--;
        this.#commands.delete(step.id);
        this.#settle(step, cameThrough);
        this.advance();
      });
  }

  #acquireSlot(step: S): Promise<string | undefined> {
    const refusal = this.#refusal();
    if (refusal !== undefined) return Promise.resolve(refusal);
    const hasSlot = this.#commands.has(step.id);
    if (hasSlot || this.#commands.size < this.#options.jobs) {
      this.#commands.add(step.id);
      return Promise.resolve(undefined);
    }
    this.#callbacks.waits(step);
    return new Promise((resume) => this.#waiting.push({ step, resume }));
  }

  #grantSlots(): void {
    while (this.#waiting.length > 0) {
      const refusal = this.#refusal();
      if (refusal === undefined && this.#commands.size >= this.#options.jobs) return;
      const next = this.#waiting.shift();
      if (next && refusal === undefined) {
        this.#commands.add(next.step.id);
        this.#callbacks.resumes(next.step);
      }
      next?.resume(refusal);
    }
  }

  #settle({ id }: S, cameThrough: boolean): void {
    for (const follower of this.#followers.get(id) ?? []) {
      if (!cameThrough) this.#broken.set(follower.id, this.#broken.get(id) ?? id);
      const left = (this.#before.get(follower.id) ?? 1) - 1;
      this.#before.set(follower.id, left);
      if (left === 0) this.#ready.push(follower);
    }
    if (!cameThrough && !this.#options.keepGoing)
      this.#stopped ??= `nothing new began after ${this.#broken.get(id) ?? id} failed`;
  }

  /** Why no step may begin its command any more, if that is so. */
  #refusal(): string | undefined {
    if (this.#options.isCancelled()) this.#stopped ??= 'it was interrupted';
    return this.#stopped;
  }
}

function followersOf<S extends Ordered>(order: readonly S[]): Map<string, S[]> {
  const followers = new Map<string, S[]>(order.map(({ id }) => [id, []]));
  for (const step of order) for (const id of step.dependsOn) followers.get(id)?.push(step);
  return followers;
}
