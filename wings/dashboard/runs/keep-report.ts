// Keeps a reported run. The answer does not wait for the explanation of misses, which may read many blobs.
import { AssayError } from '../../../core/errors.ts';
import type { ReportedStep, RunReport } from '../../../core/metadata/run-report-schema.ts';
import type { StepId } from '../../../core/metadata/step-id.ts';
import { type NamespaceRange, writtenFrom } from '../../../core/namespace.ts';
import { contentOf } from '../../../server/history/documents.ts';
import { STEP_KIND, type StoredUnkept, UNKEPT_KIND } from '../../../server/history/step-documents.ts';
import { SERVER } from '../../../server/limits.ts';
import type { AccountUse } from '../../../store/accounts.ts';
import type { History, HistoryDocument } from '../../../store/history.ts';
import { Semaphore } from '../../../store/shared/semaphore.ts';
import type { Blobs } from '../../../store/store.ts';
import { DASHBOARD } from '../limits.ts';
import { idOf, type StoredStep } from '../stored-step.ts';
import { flakyWith } from '../trends/flaky.ts';
import { timesWith } from '../trends/step-times.ts';
import { stepsOf, stepWeeks } from '../trends/step-weeks.ts';
import { explainMiss, isUnexplained } from './explain-misses.ts';
import { MissDays } from './miss-days.ts';
import { ReportRoom } from './report-room.ts';
import {
  detailsDocument,
  documentNameOf,
  documentsOf,
  type KnownSteps,
  leftNothing,
  missesOf,
  type ReportSender,
  reportRow,
} from './run-documents.ts';

interface ReportContext {
  readonly history: History;
  /** The limit of the whole store, and who has a quota. */
  readonly limit: number;
  readonly accounts: readonly AccountUse[];
  readonly sender: ReportSender;
  readonly readable: NamespaceRange;
  /** Undefined if the sender may not read blobs: then nothing is explained. */
  readonly blobs: Blobs | undefined;
  readonly now: number;
}

interface KeptRun {
  readonly savedMs: number;
  /** Settles when the misses are explained, and never rejects. */
  readonly explained: Promise<void>;
}

export class Reports {
  readonly #days = new MissDays();
  readonly #weeks = stepWeeks();
  readonly #room = new ReportRoom();
  #lastWrite: Promise<unknown> = Promise.resolve();
  readonly #explanations = new Semaphore({
    permits: DASHBOARD.maxExplanations,
    maxWaiting: DASHBOARD.maxQueuedExplanations,
    waitMs: SERVER.queueTimeoutMs,
  });

  /** Resolves when the run is stored. */
  async keep(report: RunReport, context: ReportContext): Promise<KeptRun> {
    const { history, sender, now, limit, accounts } = context;
    if (Number.isNaN(Date.parse(report.startedAt)))
      throw new AssayError('ASSAY_BAD_MESSAGE', 'startedAt is not a time');
    /* A second report under an id would change a run that people have looked at. */
    if (await history.get('run', report.id, [writtenFrom(sender.namespace)]))
      throw new AssayError('ASSAY_BAD_MESSAGE', 'a run with this id was reported before');
    const earlier = await earlierKeys(report, context);
    const place = documentNameOf(report, sender, now);
    const [misses, steps] = [missesOf(report, place), stepsOf(report, place)];
    const known = await knownSteps(report, context);
    const added = async () => {
      const documents = [
        ...documentsOf(report, sender, now, known),
        ...(await flakyWith(report, place, history)),
        ...(await timesWith(report, place, history)),
      ];
      const size = documents.reduce((sum, { bytes }) => sum + bytes.length, 0);
      await this.#room.take(sender.namespace, size, { history, limit, accounts, now });
      return documents;
    };
    await this.#write(history, added, [
      { document: () => this.#days.add(misses), undo: () => this.#days.remove(misses) },
      { document: () => this.#weeks.add(steps), undo: () => this.#weeks.remove(steps) },
    ]);
    const { savedMs } = reportRow(report, sender, now);
    if (earlier.size === 0) return { savedMs, explained: Promise.resolve() };
    const explained = this.#explanations.run(() => this.#explain(report, earlier, context)).catch(() => {});
    return { savedMs, explained };
  }

  async #explain(
    report: RunReport,
    earlier: ReadonlyMap<string, string>,
    { history, sender, blobs, now }: ReportContext,
  ): Promise<void> {
    const name = documentNameOf(report, sender, now);
    const explained = { ...report, steps: await explainedSteps(report, earlier, blobs) };
    const [before, after] = [missesOf(report, name), missesOf(explained, name)];
    await this.#write(history, async () => [detailsDocument(explained, name)], [
      {
        document: () => this.#days.explain(before, after),
        undo: () => this.#days.explain(after, before),
      },
    ]);
  }

  /** One after another, so that no earlier sums of a period replace later ones (../period-sums.ts, M2). */
  #write(
    history: History,
    added: () => Promise<readonly HistoryDocument[]>,
    sums: readonly SumsChange[],
  ): Promise<void> {
    const written = this.#lastWrite.then(async () => {
      const documents = await added();
      const changed = sums.map((one) => one.document());
      try {
        await history.put([...documents, ...changed]);
      } catch (error) {
        for (const one of sums) one.undo();
        throw error;
      }
    });
    this.#lastWrite = written.catch(() => {});
    return written;
  }
}

/** A change of sums, and how to take it back if it can't be stored. */
interface SumsChange {
  document(): HistoryDocument;
  undo(): unknown;
}

/** The keys that the unexplained steps had before, by step. */
async function earlierKeys(
  report: RunReport,
  { history, readable, blobs }: ReportContext,
): Promise<ReadonlyMap<string, string>> {
  const keys = new Map<string, string>();
  if (!blobs || report.repository === undefined) return keys;
  for (const one of report.steps.filter(wantsExplanation).slice(0, DASHBOARD.explainedMisses)) {
    const { step, key } = one;
    const document = await history.get(STEP_KIND, idOf(report.repository, one), readable);
    const before = document && contentOf<StoredStep>(document)?.key;
    if (before !== undefined && before !== key) keys.set(step, before);
  }
  return keys;
}

async function knownSteps(report: RunReport, { history, sender }: ReportContext): Promise<KnownSteps> {
  const namespaces = [writtenFrom(sender.namespace)];
  const findings = new Map<StepId, Pick<StoredStep, 'findings' | 'list'>>();
  const unkept = new Map<StepId, StoredUnkept>();
  const read = async <T extends object>(kind: string, id: StepId): Promise<T | undefined> => {
    const document = await history.get(kind, id, namespaces);
    return document && contentOf<T>(document);
  };
  /* Of hits whose status is that of the run before: what was found then is true of their results. */
  const readFindings = async (step: ReportedStep) => {
    const id = idOf(report.repository, step);
    const stored = await read<StoredStep>(STEP_KIND, id);
    if (stored && stored.status === step.status && stored.findings > 0)
      findings.set(id, { findings: stored.findings, list: stored.list });
  };
  const readUnkept = async (step: ReportedStep) => {
    const id = idOf(report.repository, step);
    const stored = await read<StoredUnkept>(UNKEPT_KIND, id);
    if (stored) unkept.set(id, stored);
  };
  const { steps } = report;
  await Promise.all([
    ...steps.filter(mayHaveFindings).slice(0, DASHBOARD.explainedMisses).map(readFindings),
    ...steps.filter(leftNothing).slice(0, DASHBOARD.explainedMisses).map(readUnkept),
  ]);
  return { findings, unkept };
}

function mayHaveFindings({ outcome, status, findings }: ReportedStep): boolean {
  const isHit = outcome === 'hit-local' || outcome === 'hit-remote';
  return isHit && status !== undefined && status !== 'declared' && findings.length === 0;
}

function wantsExplanation({ outcome, cause = { kind: 'unknown' } }: ReportedStep): boolean {
  return outcome === 'miss' && isUnexplained(cause);
}

async function explainedSteps(
  { steps }: RunReport,
  earlier: ReadonlyMap<string, string>,
  blobs: Blobs | undefined,
): Promise<ReportedStep[]> {
  const explained: ReportedStep[] = [];
  for (const step of steps) {
    const before = wantsExplanation(step) ? earlier.get(step.step) : undefined;
    const found = before && step.key && blobs ? await explainMiss(before, step.key, blobs) : undefined;
    explained.push({ ...step, ...found });
  }
  return explained;
}
