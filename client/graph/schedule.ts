// Runs steps side by side, each after those that it depends on. A step whose dependency did not come through is skipped;
// after a failure nothing new begins, unless it is to keep going with what does not depend on the failed one.
import type { Step } from '../config/step.ts';

export interface ScheduleOptions {
  readonly jobs: number;
  readonly keepGoing: boolean;
  /** Becomes true when somebody wants it to end: what runs is waited for, nothing new begins. */
  isCancelled(): boolean;
}

export interface Steward {
  /** True if those that depend on it may go on. Never rejects. */
  run(step: Step): Promise<boolean>;
  skip(step: Step, why: string): void;
}

/** `order`: dependencies first. */
export async function schedule(
  order: readonly Step[],
  { jobs, keepGoing, isCancelled }: ScheduleOptions,
  steward: Steward,
): Promise<void> {
  const inOrder = new Set(order.map(({ id }) => id));
  const waitsFor = new Map(
    order.map(({ id, dependsOn }) => [id, dependsOn.filter((one) => inOrder.has(one)).length]),
  );
  const followers = followersOf(order);
  const ready = order.filter(({ id }) => waitsFor.get(id) === 0);
  const broken = new Map<string, string>();
  let running = 0;
  let stopped: string | undefined;
  await new Promise<void>((resolve) => {
    const settle = (step: Step, cameThrough: boolean): void => {
      for (const follower of followers.get(step.id) ?? []) {
        if (!cameThrough) broken.set(follower.id, broken.get(step.id) ?? step.id);
        const left = (waitsFor.get(follower.id) ?? 1) - 1;
        waitsFor.set(follower.id, left);
        if (left === 0) ready.push(follower);
      }
      if (!cameThrough && !keepGoing) stopped ??= `${broken.get(step.id) ?? step.id} failed`;
    };
    const next = (): void => {
      while (running < jobs) {
        const step = ready.shift();
        if (!step) break;
        const cause = broken.get(step.id);
        if (isCancelled()) stopped ??= 'it was interrupted';
        if (cause !== undefined || stopped !== undefined) {
          steward.skip(step, cause === undefined ? (stopped ?? '') : `${cause} did not come through`);
          settle(step, false);
          continue;
        }
        running++;
        void steward.run(step).then((cameThrough) => {
          running--;
          settle(step, cameThrough);
          next();
        });
      }
      if (running === 0 && ready.length === 0) resolve();
    };
    next();
  });
}

function followersOf(order: readonly Step[]): Map<string, Step[]> {
  const followers = new Map<string, Step[]>(order.map(({ id }) => [id, []]));
  for (const step of order) for (const id of step.dependsOn) followers.get(id)?.push(step);
  return followers;
}
