// Hermeticity: every step of the fleet by the evidence of its newest run, the newest findings, and divergences.
import { isInRange, type Namespace, type NamespaceRange, writtenFrom } from '../../../core/namespace.ts';
import type { Hermeticity } from '../api/schemas/hermeticity.ts';
import { DASHBOARD } from '../limits.ts';
import { type DivergenceReader, divergenceRow } from './divergence-row.ts';
import type { ReviewedSteps } from './step-review.ts';
import type { Surveyed } from './survey.ts';

interface HermeticityQuery {
  readonly from: number;
  readonly to: number;
}

const NO_STEPS = {
  counts: { declared: 0, observed: 0, unproven: 0, unwatched: 0 },
  steps: [],
  moreSteps: 0,
  findings: [],
};

export async function hermeticityAnswer(
  reviewed: ReviewedSteps | undefined,
  surveyed: Surveyed | undefined,
  readable: NamespaceRange,
  { from, to }: HermeticityQuery,
  reader: DivergenceReader,
): Promise<Hermeticity> {
  const { counts, steps, moreSteps, findings } = reviewed ?? NO_STEPS;
  const divergences = readableDivergences(surveyed, readable);
  return {
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    ...(reviewed && { stepsReadAt: new Date(reviewed.at).toISOString() }),
    counts,
    steps,
    moreSteps,
    findings,
    divergences: await Promise.all(
      divergences.slice(0, DASHBOARD.listedDivergences).map((one) => divergenceRow(one, reader)),
    ),
    moreDivergences: divergences.length > DASHBOARD.listedDivergences,
    ...(surveyed && { divergencesReadAt: new Date(surveyed.at).toISOString() }),
  };
}

export function readableDivergences(
  surveyed: Surveyed | undefined,
  readable: NamespaceRange,
): Surveyed['divergences'] {
  return (surveyed?.divergences ?? []).filter(({ namespace }) =>
    isInRange(writtenFrom(namespace as Namespace), readable),
  );
}
