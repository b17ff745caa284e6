// Makes a failing plan smaller: leaves out one operation after the other as long as the same kind of difference shows.
// It stops after a bounded number of cases, so a slow or unstable difference is told as it is.
import { type Report, runCase } from './case.ts';
import type { Plan } from './plan.ts';

const MOST_CASES = 30;

export interface Small {
  readonly report: Report;
  readonly only: ReadonlySet<number>;
}

export async function shrink(
  plan: Plan,
  report: Report,
  remote: string,
  from?: ReadonlySet<number>,
): Promise<Small> {
  const [first] = report.differences;
  if (!first) throw new Error('nothing to shrink');
  const upTo = plan.operations.map((_, index) => index).filter((index) => index <= first.operation);
  let best: Small = { report, only: new Set(upTo.filter((index) => from?.has(index) ?? true)) };
  let cases = 0;
  const attempt = async (only: ReadonlySet<number>): Promise<boolean> => {
    if (cases++ >= MOST_CASES) return false;
    const smaller = await runCase(plan, remote, only);
    if (!smaller.differences.some(({ kind }) => kind === first.kind)) return false;
    best = { report: smaller, only };
    return true;
  };
  await attempt(best.only);
  for (const index of [...best.only].reverse()) {
    if (index === first.operation) continue;
    await attempt(new Set([...best.only].filter((one) => one !== index)));
  }
  return best;
}
