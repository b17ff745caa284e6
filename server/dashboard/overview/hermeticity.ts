// Hermeticity: every step of the fleet by the evidence of its newest run, the newest findings, and divergences.
import type { EvidenceStatus } from '../../../core/evidence.ts';
import { type Namespace, writtenFrom } from '../../../core/namespace.ts';
import type { History } from '../../../store/history.ts';
import type { ListedDivergence } from '../../../store/review/divergences.ts';
import { DASHBOARD } from '../../limits.ts';
import type { DivergenceRow, FindingRow, Hermeticity, HermeticStep } from '../api/types.ts';
import { documentsIn } from '../documents.ts';
import type { StoredStep } from '../runs/run-documents.ts';
import { shown } from '../runs/run-documents.ts';
import type { Readable } from '../runs/runs.ts';
import type { Surveyed } from './survey.ts';

/** The least proven first. */
const ORDER: readonly EvidenceStatus[] = ['unproven', 'unwatched', 'observed', 'declared'];

export async function hermeticityAnswer(
  history: History,
  readable: Readable,
  { from, to }: { readonly from: number; readonly to: number },
  surveyed: Surveyed | undefined,
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
  const divergences = (surveyed?.divergences ?? []).filter(
    ({ namespace }) => readable?.includes(writtenFrom(namespace as Namespace)) ?? true,
  );
  return {
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    counts,
    steps: steps.slice(0, DASHBOARD.listedSteps),
    moreSteps: Math.max(0, steps.length - DASHBOARD.listedSteps),
    findings,
    divergences: divergences.slice(0, DASHBOARD.listedDivergences).map(divergenceRow),
    moreDivergences: divergences.length > DASHBOARD.listedDivergences || surveyed === undefined,
  };
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

function divergenceRow({ key, namespace, first, second, difference }: ListedDivergence): DivergenceRow {
  const { output, log, exitCodes } = difference;
  const offset =
    output && 'offset' in output ? output.offset : log && 'offset' in log ? log.offset : undefined;
  return {
    key,
    namespace: shown(namespace as Namespace),
    ...(first && { first }),
    ...(second && { second }),
    text: textOf(difference),
    ...(output && { path: output.path }),
    ...(offset !== undefined && { byte: offset }),
    whatToDo: exitCodes
      ? 'The command ended in two ways with the same inputs. Run `assay reproduce` on the step.'
      : 'Run `assay reproduce` on the step: it names the likely cause, such as a time stamp or an order of files.',
  };
}

function textOf({ exitCodes, output, log }: ListedDivergence['difference']): string {
  if (exitCodes) return `the exit codes are ${exitCodes[0]} and ${exitCodes[1]}`;
  if (output) {
    switch (output.how) {
      case 'content':
        return 'offset' in output
          ? `${output.path} differs from byte ${output.offset} on (${output.sizes[0]} and ${output.sizes[1]} bytes)`
          : `${output.path} differs (${output.sizes[0]} and ${output.sizes[1]} bytes)`;
      case 'only-in':
        return `only the ${output.side} result has ${output.path}`;
      case 'kind':
        return `${output.path} is a ${output.kinds[0]} in one and a ${output.kinds[1]} in the other`;
      case 'target':
        return `the link ${output.path} has two targets`;
      case 'executable':
        return `${output.path} is executable in one of them`;
      case 'folder':
        return `the folder ${output.path} differs`;
    }
  }
  return log ? `the ${log.stream} of the command differs` : 'the results differ';
}
