// Hermeticity: every step of the fleet by the evidence of its newest run, the newest findings, and divergences.
import type { EvidenceStatus } from '../../../core/evidence.ts';
import { type Namespace, writtenFrom } from '../../../core/namespace.ts';
import type { History } from '../../../store/history.ts';
import { DASHBOARD } from '../../limits.ts';
import type { FindingRow, Hermeticity, HermeticStep } from '../api/types.ts';
import { documentsIn } from '../documents.ts';
import type { StoredStep } from '../runs/run-documents.ts';
import type { Readable } from '../runs/runs.ts';
import { type DivergenceReader, divergenceRow } from './divergence-row.ts';
import type { Surveyed } from './survey.ts';

/** The least proven first. */
const ORDER: readonly EvidenceStatus[] = ['unproven', 'unwatched', 'observed', 'declared'];

export interface HermeticityQuery {
  readonly from: number;
  readonly to: number;
}

export async function hermeticityAnswer(
  history: History,
  readable: Readable,
  { from, to }: HermeticityQuery,
  surveyed: Surveyed | undefined,
  reader: DivergenceReader,
): Promise<Hermeticity> {
  const counts = { declared: 0, observed: 0, unproven: 0, unwatched: 0 };
  const steps: HermeticStep[] = [];
  const findings: FindingRow[] = [];
  const query = { kind: 'step', namespaces: readable, from, to };
  for await (const { value } of documentsIn<StoredStep>(history, query)) {
    const { list, ...step } = value;
    counts[step.status]++;
    steps.push(step);
    for (const finding of list)
      if (findings.length < DASHBOARD.listedFindings) findings.push(findingRow(finding, step));
  }
  steps.sort((a, b) => ORDER.indexOf(a.status) - ORDER.indexOf(b.status) || b.findings - a.findings);
  const divergences = readableDivergences(surveyed, readable);
  return {
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    counts,
    steps: steps.slice(0, DASHBOARD.listedSteps),
    moreSteps: Math.max(0, steps.length - DASHBOARD.listedSteps),
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
  readable: Readable,
): Surveyed['divergences'] {
  return (surveyed?.divergences ?? []).filter(
    ({ namespace }) => readable?.includes(writtenFrom(namespace as Namespace)) ?? true,
  );
}

function findingRow(finding: StoredStep['list'][number], step: HermeticStep): FindingRow {
  const { repository, at, run } = step;
  const line = lineFor(finding);
  return {
    ...finding,
    step: step.step,
    ...(repository !== undefined && { repository }),
    at,
    run,
    ...(line !== undefined && { lineToWrite: line }),
  };
}

/** Only what a declaration in assay.json can name: a path inside the workspace. */
function lineFor({ kind, path }: StoredStep['list'][number]): string | undefined {
  if (path === '' || path.startsWith('/') || path.startsWith('../')) return undefined;
  const name = JSON.stringify(path.replace(/[\\*?[\]{}()]|^!/g, '\\$&'));
  if (kind === 'read' || kind === 'probe' || kind === 'list' || kind === 'absent')
    return `"inputs": [${name}]`;
  return kind === 'write' || kind === 'mutate' ? `"outputs": [${name}]` : undefined;
}
