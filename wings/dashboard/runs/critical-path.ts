// The critical path of a run: the chain of steps that determined its duration.
// It is walked backwards from the step that ended last, each time to the dependency that ended last.

interface TimedStep {
  readonly step: string;
  readonly startMs: number;
  readonly elapsedMs: number;
  readonly waitedMs: number;
  readonly needs: readonly string[];
}

/** First to last. Skipped steps have no duration, and are on no path. */
export function criticalPath(steps: readonly TimedStep[]): string[] {
  const byName = new Map(steps.map((step) => [step.step, step]));
  const path: string[] = [];
  let current = latest(steps);
  while (current && endOf(current) > 0 && !path.includes(current.step)) {
    path.push(current.step);
    current = latest(current.needs.flatMap((name) => byName.get(name) ?? []));
  }
  return path.reverse();
}

function latest(steps: readonly TimedStep[]): TimedStep | undefined {
  return steps.reduce<TimedStep | undefined>(
    (last, step) => (last === undefined || endOf(step) > endOf(last) ? step : last),
    undefined,
  );
}

function endOf({ startMs, waitedMs, elapsedMs }: TimedStep): number {
  return startMs + waitedMs + elapsedMs;
}
