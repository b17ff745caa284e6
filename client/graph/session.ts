// A graph run's resources, opened from the flags: caches, view and up-to-date state. `close` releases them.
import { expectLongRun } from '../../core/bun.ts';
import { type ParsedFlags, parseNumber, usage } from '../../core/cli/command.ts';
import type { Variables } from '../action/environment.ts';
import { actionLeaseFrom } from '../lease/mode.ts';
import { GRAPH } from '../limits.ts';
import { isCiJob, maySend } from '../local-store/outbox.ts';
import { storeFolder } from '../local-store/store-folder.ts';
import { onSignal } from '../process/launch.ts';
import { remoteToken } from '../remote/token.ts';
import { parseRemoteUrl } from '../remote/url.ts';
import { appendRun, graphRunsFile } from '../report/graph-runs.ts';
import { RunRecorder } from '../report/recorder.ts';
import { retriesFrom } from '../retry/retry.ts';
import type { CacheOptions } from '../run/caches.ts';
import { jsonForm } from '../terminal/json-form.ts';
import { SyncStream } from '../terminal/sync-stream.ts';
import { StateRecorder } from '../up-to-date/state-recorder.ts';
import type { Emit, GraphEvent, GraphSummary } from '../view/events.ts';
import type { UploadOutcome } from '../view/run-totals.ts';
import { summaryPage } from '../view/summary-file.ts';
import { openView, type ViewFlag } from '../view/view.ts';
import type { Graph } from './graph.ts';
import { type OpenedWorkspace, readConfigAgain } from './opened-workspace.ts';
import { runGraph } from './run-graph.ts';
import type { StepContext } from './run-step.ts';
import type { StepRunner } from './step-runner.ts';

/** The flags whose output has the receipts of hits. */
const RECEIPT_FLAGS = ['json', 'verbose', 'summary'] as const;

/** The flags that say where results lie. */
type CacheFlag = 'store' | 'remote';

export type SessionFlag =
  | CacheFlag
  | ViewFlag
  | 'action-lease'
  | 'cache-failures'
  | 'force'
  | 'jobs'
  | 'keep-going'
  | 'no-report'
  | 'retry';

interface Session {
  readonly context: StepContext;
  /** `interrupted`: the exit code of an interrupt; undefined before one. */
  run(graph: Graph, interrupted: () => number | undefined): Promise<GraphSummary>;
  close(): Promise<void>;
}

/** The hits to check, and what wings do around commands. A forecast needs neither. */
export type RunHooks = Pick<StepContext, 'sample' | 'stepHook'>;

export function openSession(
  flags: ParsedFlags<SessionFlag>,
  workspace: OpenedWorkspace,
  { sample, stepHook }: RunHooks = {},
): Session {
  const caller = { ...process.env }; // each access to process.env is a system call
  const jobs = jobsFrom(flags.text('jobs'));
  const view = openView(flags, caller);
  const cacheOptions: CacheOptions = {
    ...cacheOptionsOf(flags, workspace, caller),
    report: (event) => view.warn(event),
  };
  const { storeFolder: store } = cacheOptions;
  let runner: Promise<StepRunner> | undefined;
  const events = new RunRecorder(Date.now);
  let short: { handle(event: GraphEvent): void; answer(summary: GraphSummary): string } | undefined;
  const recorder = new StateRecorder({
    ...workspace,
    storeFolder: store,
    caller,
    wantsReceipts: RECEIPT_FLAGS.some((flag) => flags.given(flag)),
  });
  const context: StepContext = {
    workspace,
    recorder,
    caller,
    emit(event) {
      view.handle(event);
      events.handle(event);
      short?.handle(event);
    },
    strayWrites: new Set(),
    force: flags.given('force'),
    keepsFailures: keepsFailuresFrom(flags),
    retries: retriesFrom(flags),
    sample,
    stepHook,
    actionLease: actionLeaseFrom(flags, caller),
    now: Date.now,
    stepRunner() {
      runner ??= loadStepRunner(cacheOptions, jobs);
      return runner;
    },
  };
  /** If all steps were up to date, opens the caches only to upload what earlier runs left. */
  const finishUploads = async (began: number, emit: Emit, isInterrupted: boolean): Promise<UploadOutcome> => {
    const isNeeded =
      runner !== undefined ||
      (cacheOptions.remoteUrl && maySend(store, cacheOptions.remoteUrl, cacheOptions.token));
    if (!isNeeded) return { unshared: 0, diverged: false };
    const opened = await context.stepRunner();
    const { promise, resolve } = Promise.withResolvers<void>();
    const release = onSignal(() => resolve());
    if (isInterrupted) resolve();
    const hits = view.ends.flatMap(({ outcome, key = '', checked = 'same' }) =>
      outcome === 'hit-local' && checked === 'same' ? [key] : [],
    );
    return opened.finishUploads(began, emit, promise, hits).finally(release);
  };
  const isReported = !flags.given('no-report') && caller.ASSAY_REPORT !== '0';
  /** Only to a server that this run has asked, and that announced it. Prints the address of the run's page. */
  const report = async ({ order: steps }: Graph, summary: GraphSummary): Promise<void> => {
    const opened = await (await runner)?.cache.openedRemote();
    const { remoteUrl: url, token } = cacheOptions;
    if (!url || !opened?.usable || opened.reportForm === 0) return;
    const [{ buildReport }, { sendReport }, { sendLogs }, { namedStepId }] = await Promise.all([
      import('../report/build-report.ts'),
      import('../report/send.ts'),
      import('../report/send-logs.ts'),
      import('../history/step-id.ts'),
    ]);
    const idOf = (step: string) => namedStepId(step, workspace.root, caller);
    const around = { workspace: workspace.root, steps, caller, idOf };
    const openStore = async () => (await runner)?.cache.openStore();
    await sendLogs(view.ends, opened, openStore, summary.elapsedMs);
    const built = buildReport(events.recorded, summary, around, opened.reportForm);
    const address = await sendReport(built, { url, token });
    if (address !== undefined) new SyncStream(2).write(`assay: ${address}\n`);
  };
  return {
    context,
    async run(graph, interrupted) {
      if (graph.order.length > GRAPH.fewSteps) expectLongRun();
      if (jsonForm(flags) === 'short') short = new (await import('../short/run-answer.ts')).ShortRun();
      const summary = await runGraph(graph, {
        ...context,
        jobs,
        keepGoing: flags.given('keep-going'),
        interrupted,
        recordMade: async (began) => (await runner)?.recordMade(began, context),
        finishUploads: (began, emit) => finishUploads(began, emit, interrupted() !== undefined),
      });
      view.finish(summary);
      if (short) new SyncStream(1).write(short.answer(summary));
      if (recorder.lacksConfig()) recorder.configRead(await readConfigAgain(workspace));
      recorder.save();
      const at = Date.now() - summary.elapsedMs;
      const { rows } = summaryPage(summary, view.ends);
      appendRun(graphRunsFile(store), { at, workspace: workspace.root, summary, rows });
      if (isReported) await report(graph, summary);
      return summary;
    },
    close: async () => (await runner)?.close(),
  };
}

export function cacheOptionsOf(
  flags: ParsedFlags<CacheFlag>,
  workspace: OpenedWorkspace,
  caller: Variables,
): Omit<CacheOptions, 'report'> {
  const remote = flags.text('remote') ?? caller.ASSAY_REMOTE;
  return {
    storeFolder: storeFolder(flags.text('store'), caller),
    workspace: workspace.root,
    remoteUrl: remote ? parseRemoteUrl(remote) : undefined,
    token: remoteToken(),
    now: Date.now,
  };
}

/** Loaded late: a run with only up-to-date steps needs none of it. */
async function loadStepRunner(options: CacheOptions, jobs: number): Promise<StepRunner> {
  const { openStepRunner } = await import('./step-runner.ts');
  // The jobs of a CI system are kept apart: one that hangs must not slow another one down.
  return openStepRunner({ ...options, ...(!isCiJob() && { jobs }) });
}

/** A step that shares its failures says that in assay.json, for everybody. */
function keepsFailuresFrom(flags: ParsedFlags<SessionFlag>): boolean {
  const wanted = flags.text('cache-failures');
  if (wanted === undefined || wanted === 'local') return wanted !== undefined;
  throw usage(
    'with a step, --cache-failures takes local; "cacheFailures": true in assay.json shares failures',
  );
}

function jobsFrom(text: string | undefined): number {
  // As availableParallelism of node:os, which takes time to load.
  const cores = () => navigator.hardwareConcurrency;
  const jobs = text === undefined ? cores() : parseNumber('--jobs', text, 1, GRAPH.maxJobs);
  // Each running command adds a listener for the signals that end Assay, and another one with --retry.
  process.setMaxListeners(Math.max(process.getMaxListeners(), 2 * jobs + 10));
  return jobs;
}
