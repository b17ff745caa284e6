// Runs: lists them newest first, and shows one.
// Guarantee: a reader gets the runs of the namespaces that it may read, and learns nothing of others.
import { setImmediate } from 'node:timers/promises';
import type { Digest } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import type { Namespace, NamespaceRange } from '../../../core/namespace.ts';
import { contentOf } from '../../../server/history/documents.ts';
import { type History, type HistoryDocument, isHistoryId, positionOf } from '../../../store/history.ts';
import type { LogText, RunRow } from '../api/schemas/parts.ts';
import type { FailedStep, Run, RunStep, Runs } from '../api/schemas/runs.ts';
import { DASHBOARD } from '../limits.ts';
import { withoutNumber } from '../pull-requests.ts';
import { criticalPath } from './critical-path.ts';
import { DAY_MS } from './miss-days.ts';
import type { StoredDetails, StoredRow } from './run-documents.ts';

export interface RunsQuery {
  readonly repository?: string | undefined;
  readonly branch?: string | undefined;
  /** A part of its name: people say "test" for "web#test". */
  readonly step?: string | undefined;
  readonly outcome?: string | undefined;
  readonly tool?: string | undefined;
  /** One, or PARENT/pr/… for all pull requests there. */
  readonly namespace?: string | undefined;
  /** The last day, in UTC: YYYY-MM-DD. */
  readonly until?: string | undefined;
  readonly before?: string | undefined;
  readonly limit: number;
}

/** Searches at most DASHBOARD.searchedRuns, so that a search for nothing ends; `next` goes on after them. */
export async function listRuns(history: History, readable: NamespaceRange, query: RunsQuery): Promise<Runs> {
  const runs: RunRow[] = [];
  const choices = new Choices();
  let before = query.before;
  const to = query.until === undefined ? undefined : endOfDay(query.until);
  for (let searched = 0; searched < DASHBOARD.searchedRuns; searched += DASHBOARD.maxListedRuns) {
    const limit = DASHBOARD.maxListedRuns;
    const page = await history.page({ kind: 'run', namespaces: readable, to, before, limit });
    for (const document of page.documents) {
      const row = contentOf<StoredRow>(document);
      if (!row) continue;
      choices.add(row);
      if (!isWanted(row, query)) continue;
      runs.push(publicRow(row));
      if (runs.length === query.limit) {
        const isLast = page.position === undefined && document === page.documents.at(-1);
        return { runs, ...(!isLast && { next: positionOf(document) }), choices: choices.found() };
      }
    }
    if (page.position === undefined) return { runs, choices: choices.found() };
    before = page.position;
    await setImmediate();
  }
  return { runs, ...(before !== undefined && { next: before }), choices: choices.found() };
}

function endOfDay(day: string): number {
  const start = Date.parse(`${day}T00:00:00Z`);
  if (Number.isNaN(start)) throw new AssayError('ASSAY_BAD_MESSAGE', 'until is a day, such as 2026-11-17');
  return start + DAY_MS;
}

function isWanted(row: StoredRow, query: RunsQuery): boolean {
  const { repository, branch, step, outcome, tool, namespace } = query;
  return (
    (repository === undefined || row.repository === repository) &&
    (branch === undefined || row.branch === branch) &&
    (outcome === undefined || row.outcome === outcome) &&
    (tool === undefined || row.tool === tool) &&
    (namespace === undefined || row.namespace === namespace || withoutNumber(row.namespace) === namespace) &&
    (step === undefined || row.names.some((name) => name.includes(step)))
  );
}

/** Enough to know a run by. */
const SHOWN_NAMES = 3;

function publicRow(stored: StoredRow): RunRow {
  const { names, likeness: _likeness, receivedAt: _receivedAt, parts: _parts, ...row } = stored;
  return names.length === 0 ? row : { ...row, ran: names.slice(0, SHOWN_NAMES) };
}

/** What the runs of an answer have, to choose from. */
class Choices {
  readonly #repositories = new Set<string>();
  readonly #branches = new Set<string>();
  readonly #tools = new Set<string>();
  readonly #namespaces = new Set<string>();

  add({ repository, branch, tool, namespace }: StoredRow): void {
    if (repository !== undefined) this.#repositories.add(repository);
    if (branch !== undefined) this.#branches.add(branch);
    this.#tools.add(tool);
    this.#namespaces.add(withoutNumber(namespace));
  }

  found(): Runs['choices'] {
    const listed = (names: Set<string>) => [...names].sort().slice(0, DASHBOARD.maxListedRuns);
    return {
      repositories: listed(this.#repositories),
      branches: listed(this.#branches),
      tools: listed(this.#tools),
      namespaces: listed(this.#namespaces),
    };
  }
}

interface RunReader {
  /** Whether the reader can see the action of a key. */
  isStored(key: string): Promise<boolean>;
  /** Reads logs of the runs of a namespace. Undefined if the reader may not. */
  logsIn(namespace: Namespace): ((log: Digest) => Promise<LogText>) | undefined;
}

export async function showRun(
  history: History,
  readable: NamespaceRange,
  id: string,
  { isStored, logsIn }: RunReader,
): Promise<Run> {
  const { document, row } = (await firstWith(history, readable, id)) ?? {};
  if (!document || !row)
    throw new AssayError('ASSAY_NOT_FOUND', 'there is no run with this id, or it is too old');
  const kept = await history.get('run-details', id, [document.namespace]);
  const details = (kept && contentOf<StoredDetails>(kept)) ?? { warnings: [], steps: [] };
  const { steps, ...rest } = details;
  const path = criticalPath(steps);
  const previous = await previousOf(history, document.namespace, row, positionOf(document));
  return {
    ...publicRow(row),
    ...rest,
    stepList: await stepList(steps, new Set(path), isStored),
    failures: await failuresOf(steps, logsIn(document.namespace)),
    criticalPath: path,
    ...(previous && { previous: { id: previous.id, elapsedMs: previous.elapsedMs } }),
    lookups: await lookupsOf(history, document),
  };
}

/**
 * A client chooses the id of its run, so runs of several namespaces may have one. It means the first that the server
 * received: nobody knows the id of a run before that.
 */
async function firstWith(
  history: History,
  readable: NamespaceRange,
  id: string,
): Promise<{ readonly document: HistoryDocument; readonly row: StoredRow } | undefined> {
  const documents = isHistoryId(id) ? await history.all('run', id, readable) : [];
  return documents
    .flatMap((document) => {
      const row = contentOf<StoredRow>(document);
      return row ? { document, row } : [];
    })
    .toSorted((a, b) => (a.row.receivedAt ?? 0) - (b.row.receivedAt ?? 0))[0];
}

async function lookupsOf(history: History, { namespace, id }: HistoryDocument): Promise<Run['lookups']> {
  const kept = await history.get('run-lookups', id, [namespace]);
  return (kept && contentOf<Pick<Run, 'lookups'>>(kept)?.lookups) ?? [];
}

async function failuresOf(
  steps: StoredDetails['steps'],
  read: ((log: Digest) => Promise<LogText>) | undefined,
): Promise<FailedStep[]> {
  const failed = steps.filter(({ outcome }) => outcome === 'failed').slice(0, DASHBOARD.shownFailures);
  return Promise.all(
    failed.map(async ({ step, exitCode, why, log }) => {
      const shown = log && (read ? { log: await read(log) } : { isHidden: true as const });
      return { step, exitCode, why, ...shown };
    }),
  );
}

async function stepList(
  steps: StoredDetails['steps'],
  critical: ReadonlySet<string>,
  isStored: (key: string) => Promise<boolean>,
): Promise<RunStep[]> {
  const found: RunStep[] = [];
  /* The digest of a log stays hidden: a viewer without the run's blobs could read the log by it elsewhere. */
  for (const { id: _, log: _log, ...step } of steps.toSorted((a, b) => a.startMs - b.startMs))
    found.push({
      ...step,
      diverged: step.diverged ?? false,
      isCritical: critical.has(step.step),
      isStored: step.key !== undefined && (await isStored(step.key)),
    });
  return found;
}

/** Among the runs just before it: with the same repository, branch and steps. */
async function previousOf(
  history: History,
  namespace: Namespace,
  row: StoredRow,
  before: string,
): Promise<StoredRow | undefined> {
  const limit = DASHBOARD.maxListedRuns;
  const { documents } = await history.page({ kind: 'run', namespaces: [namespace], before, limit });
  return documents
    .map((document) => contentOf<StoredRow>(document))
    .find(
      (other) =>
        other !== undefined &&
        other.likeness === row.likeness &&
        other.repository === row.repository &&
        other.branch === row.branch,
    );
}
