// Reads every step for the page Hermeticity: how many have which status, which are least proven, and what was found.
// A step is one document, so this takes as long as there are steps: 30 ms for a thousand.

import type { EvidenceStatus } from '../../../core/evidence.ts';
import type { NamespaceRange } from '../../../core/namespace.ts';
import { documentsIn } from '../../../server/history/documents.ts';
import { STEP_KIND } from '../../../server/history/step-documents.ts';
import type { History } from '../../../store/history.ts';
import type { FindingRow, Hermeticity, HermeticStep } from '../api/schemas/hermeticity.ts';
import { DASHBOARD } from '../limits.ts';
import type { StoredStep } from '../stored-step.ts';
import { HeldAnswers } from './held-answers.ts';

export interface ReviewedSteps extends Pick<Hermeticity, 'counts' | 'steps' | 'moreSteps' | 'findings'> {
  readonly at: number;
}

/** The least proven first. */
const ORDER: readonly EvidenceStatus[] = ['unproven', 'unwatched', 'observed', 'declared'];

export class StepReview {
  readonly #history: History;
  readonly #answers: HeldAnswers<ReviewedSteps>;

  constructor(history: History, now: () => number = Date.now) {
    this.#history = history;
    this.#answers = new HeldAnswers(now);
  }

  /** The steps of the last days. Undefined if they are being read for the first time. */
  read(readable: NamespaceRange, days: number, waitMs?: number): Promise<ReviewedSteps | undefined> {
    const find = (at: number) => reviewSteps(this.#history, readable, at, days);
    return this.#answers.read([readable, days], find, waitMs);
  }
}

const DAY_MS = 24 * 60 * 60 * 1000;

async function reviewSteps(
  history: History,
  readable: NamespaceRange,
  at: number,
  days: number,
): Promise<ReviewedSteps> {
  const counts = { declared: 0, observed: 0, unproven: 0, unwatched: 0 };
  const steps: HermeticStep[] = [];
  const findings: FindingRow[] = [];
  /* A run may begin in the millisecond in which somebody looks. */
  const query = { kind: STEP_KIND, namespaces: readable, from: at - days * DAY_MS, to: at + 1 };
  for await (const { value } of documentsIn<StoredStep>(history, query)) {
    const { list, ranMs: _, ...step } = value;
    counts[step.status]++;
    steps.push(step);
    for (const finding of list)
      if (findings.length < DASHBOARD.listedFindings) findings.push(findingRow(finding, step));
  }
  steps.sort((a, b) => ORDER.indexOf(a.status) - ORDER.indexOf(b.status) || b.findings - a.findings);
  const moreSteps = Math.max(0, steps.length - DASHBOARD.listedSteps);
  return { at, counts, steps: steps.slice(0, DASHBOARD.listedSteps), moreSteps, findings };
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
