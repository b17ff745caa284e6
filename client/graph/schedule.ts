// The scheduler: starts each step when its dependencies have succeeded. At most `jobs` commands run at a
// time. Up to `ahead` more steps look up and restore results, or wait for a slot: they wait for the network
// and use little CPU. A step is skipped if a dependency did not succeed. After a failure no new step starts,
// unless `keepGoing` is set. Decision 0211 has the measurements.
import type { Step } from '../config/step.ts';

export interface ScheduleOptions {
  /** The most commands that run at a time. */
  readonly jobs: number;
  /** The most further steps that are looked up or restored meanwhile. */
  readonly ahead: number;
  readonly keepGoing: boolean;
  /** True after an interrupt: running steps are awaited, no new one starts. */
  isCancelled(): boolean;
}

type Ordered = Pick<Step, 'id' | 'dependsOn'>;

interface StepCallbacks<S extends Ordered> {
  /** True if steps that depend on it may start. Never rejects. */
  run(step: S, slot: ScheduleSlot): Promise<boolean>;
  skip(step: S, why: string): void;
  /** The step waits for a job slot. */
  waits(step: S): void;
  /** The step has its slot after a wait. */
  resumes(step: S): void;
}

export interface ScheduleSlot {
  /**
   * Resolves when the step holds a slot, which it keeps until it ends or releases it; or to the reason why it
   * gets none.
   */
  acquire(): Promise<string | undefined>;
  /** Its command has ended and succeeded: the next one may begin while this step stores its result. */
  release(): void;
  /**
   * The step waits for another run: it gives its slot back, and other steps begin in its place. `acquire` ends that, and
   * so does the end of the step.
   */
  leave(): void;
  /** The reason why the step must not begin its command; undefined if it may. */
  refusal(): string | undefined;
}

/** `order`: topological. */
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
  /** How many dependencies of a step have not ended. */
  readonly #before: Map<string, number>;
  readonly #ready: S[];
  readonly #waiting: Waiting<S>[] = [];
  /** Steps that must not run, and the step that is the cause. */
  readonly #broken = new Map<string, string>();
  readonly #commands = new Set<string>();
  /** Those among the steps under way that wait for another run. */
  readonly #away = new Set<string>();
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
    while (this.#here < this.#options.jobs && this.#beginNext());
    this.#grantSlots();
    if (this.#underWay === 0) this.#end();
    else this.#lookAhead();
  }
  /**
   * Starts one more step per event loop iteration. A step that waits for nothing ends before the next one
   * starts, so its measured time is its own.
   */
  #lookAhead(): void {
    const { jobs, ahead } = this.#options;
    if (this.#isLookingAhead || this.#ready.length === 0 || this.#here >= jobs + ahead) return;
    this.#isLookingAhead = true;
    setImmediate(() => {
      this.#isLookingAhead = false;
      if (this.#ready.length === 0) return;
      this.#beginNext();
      this.advance();
    });
  }

  /** How many steps are under way and do not wait for another run. */
  get #here(): number {
    return this.#underWay - this.#away.size;
  }

  /** False if no step is ready. */
  #beginNext(): boolean {
    for (let step = this.#ready.shift(); step; step = this.#ready.shift()) {
      const broken = this.#broken.get(step.id);
      const refusal = broken === undefined ? this.#refusal() : `${broken} did not succeed`;
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
      .run(step, {
        acquire: () => this.#acquireSlot(step),
        release: () => this.#releaseSlot(step),
        leave: () => this.#leave(step),
        refusal: () => this.#refusal(),
      })
      .then((succeeded) => {
        this.#underWay--;
        this.#commands.delete(step.id);
        this.#away.delete(step.id);
        this.#settle(step, succeeded);
        this.advance();
      });
  }

  #acquireSlot(step: S): Promise<string | undefined> {
    this.#away.delete(step.id);
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

  #releaseSlot({ id }: S): void {
    if (this.#commands.delete(id)) this.#grantSlots();
  }

  #leave({ id }: S): void {
    this.#commands.delete(id);
    this.#away.add(id);
    this.advance();
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

  #settle({ id }: S, succeeded: boolean): void {
    for (const follower of this.#followers.get(id) ?? []) {
      if (!succeeded) this.#broken.set(follower.id, this.#broken.get(id) ?? id);
      const left = (this.#before.get(follower.id) ?? 1) - 1;
      this.#before.set(follower.id, left);
      if (left === 0) this.#ready.push(follower);
    }
    if (!succeeded && !this.#options.keepGoing)
      this.#stopped ??= `${this.#broken.get(id) ?? id} failed before this step started`;
  }

  /** The reason why no further command may begin; undefined if one may. */
  #refusal(): string | undefined {
    if (this.#options.isCancelled()) this.#stopped ??= 'the run was interrupted';
    return this.#stopped;
  }
}

function followersOf<S extends Ordered>(order: readonly S[]): Map<string, S[]> {
  const followers = new Map<string, S[]>(order.map(({ id }) => [id, []]));
  for (const step of order) for (const id of step.dependsOn) followers.get(id)?.push(step);
  return followers;
}
