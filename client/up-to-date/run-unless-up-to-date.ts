// Runs one action unless it is up to date. Its state is that of a graph with one step (graph-state.ts).
// An up-to-date action replays its log and goes into the history. For any other action the caches, and the code
// that needs them, are loaded: scripts/build.ts makes a chunk of them.
import { causeOfMiss } from '../../store/actions/miss.ts';
import { missText } from '../../store/actions/miss-text.ts';
import type { RunRequest } from '../action/request.ts';
import { historyOf, stepOf } from '../history/history.ts';
import type { KeyedAction } from '../inputs/keyed-action.ts';
import { maySend } from '../local-store/outbox.ts';
import { replay } from '../process/log.ts';
import { remoteToken } from '../remote/token.ts';
import { parseRemoteUrl } from '../remote/url.ts';
import type { ReportTarget } from '../report/send.ts';
import type { Cache } from '../run/caches.ts';
import type { RunContext } from '../run/context.ts';
import type { RunSummary } from '../run/run.ts';
import { ChangingFolders } from './absent-paths.ts';
import { type DeclaredStep, GraphState, hitOf, logOf } from './graph-state.ts';
import { type GraphName, type WrittenStep, writeStateFile } from './state-file.ts';
import { stepStateOf } from './step-state.ts';
import { variablesDigest } from './variables-digest.ts';

export interface RunOptions
  extends Pick<
    RunContext,
    | 'caller'
    | 'stdout'
    | 'stderr'
    | 'report'
    | 'signal'
    | 'throwIfCancelled'
    | 'stepHook'
    | 'actionLease'
    | 'retries'
  > {
  readonly storeFolder: string;
  readonly remote?: string | undefined;
  readonly token?: string | undefined;
  /** Run the command whatever is stored (--force). */
  readonly force?: boolean | undefined;
  /** The hits to check (--check-hits). */
  readonly sample?: RunContext['sample'];
  /** Called at the end if this run asked a server that takes reports. Resolves to the address of the run's page. */
  readonly sendReport?: (summary: RunSummary, target: ReportTarget) => Promise<string | undefined>;
}

export async function runUnlessUpToDate(request: RunRequest, options: RunOptions): Promise<RunSummary> {
  const began = Date.now();
  const remoteUrl = options.remote ? parseRemoteUrl(options.remote) : undefined;
  const hit = options.force ? undefined : lookup(request, options);
  if (!hit || options.sample?.includes(hit.key)) return runWithCaches(request, remoteUrl, options);
  const summary = finish(hit, request, options, began);
  if (remoteUrl && maySend(options.storeFolder, remoteUrl, remoteToken()))
    await share(request, remoteUrl, options, hit.key);
  return summary;
}

type StateOptions = Pick<RunOptions, 'storeFolder' | 'caller'>;

/** The recorded step, if it is up to date. */
function lookup(request: RunRequest, { storeFolder, caller }: StateOptions): WrittenStep | undefined {
  const { graph, step } = graphOf(request, caller);
  const state = GraphState.open(storeFolder, graph, caller);
  const found = state?.lookup(step);
  return found && state?.isInPlace(found) ? found : undefined;
}

/** Records an action that was found in place. `beganAt`: the clock before its first lstat. */
function record(
  action: KeyedAction,
  cache: Cache,
  { storeFolder, caller }: StateOptions,
  beganAt: number,
): void {
  const { request } = action;
  const changing = new ChangingFolders(request.outputs);
  const state = stepStateOf(action, cache, { tools: request.tools, caller, causes: [], changing }, beganAt);
  if (!state) return;
  const { graph, step } = graphOf(request, caller);
  const declared = { definition: step.definition(), variables: step.variables(), step: stepOf(request) };
  const states = new Map([[step.id, { ...state, ...declared }]]);
  writeStateFile(storeFolder, graph, caller, { ...NO_CONFIGURATION, states });
}

const NO_CONFIGURATION = { steps: new Map(), config: { rows: new Map(), traversed: new Set<string>() } };

/**
 * The graph of one action. All runs of a command have one state file, whatever their inputs are. The definition is
 * the request word by word: a digest would take longer than the comparison.
 */
function graphOf(
  { variables, ...request }: RunRequest,
  caller: RunOptions['caller'],
): { graph: GraphName; step: DeclaredStep & { definition(): string } } {
  const { workspace: root, command, workingDirectory, outputs } = request;
  const single = JSON.stringify([command, workingDirectory, outputs]);
  const step = {
    id: 'run',
    definition: () => JSON.stringify(request),
    variables: () => variablesDigest(() => variables, caller),
  };
  return { graph: { root, single }, step };
}

/** With `force` it runs the command whatever is stored, compares its result with the stored one and records no state. */
async function runWithCaches(
  request: RunRequest,
  remoteUrl: URL | undefined,
  { storeFolder, token, force = false, sendReport, ...options }: RunOptions,
): Promise<RunSummary> {
  const began = Date.now();
  const [{ openCache }, { storeOnly }, { run }] = await Promise.all([
    import('../run/caches.ts'),
    import('../run/cache-modes.ts'),
    import('../run/run.ts'),
  ]);
  const { workspace } = request;
  const { report, caller } = options;
  const cache = openCache({ storeFolder, workspace, remoteUrl, token, now: Date.now, report });
  let action: KeyedAction | undefined;
  const onKeyed = (made: KeyedAction) => {
    action = made;
  };
  try {
    const context: RunContext = { ...options, cache, now: Date.now, onKeyed };
    const forced = { ...context, cache: storeOnly(cache), withoutState: true };
    const summary = force ? asForced(await run(request, forced)) : await run(request, context);
    if (action && !force) record(action, cache, { storeFolder, caller }, began);
    const remote = await cache.openedRemote();
    if (!remoteUrl || !remote?.usable || remote.reportForm === 0) return summary;
    const page = await sendReport?.(summary, {
      url: remoteUrl,
      token,
      remote,
      openStore: () => cache.openStore(),
    });
    return page === undefined ? summary : { ...summary, page };
  } finally {
    await cache.close();
  }
}

const FORCED = { kind: 'forced', by: '--force' } as const;

function asForced(summary: RunSummary): RunSummary {
  const reason = missText(FORCED);
  return { ...summary, reason, ...(summary.outcome === 'miss' && { cause: causeOfMiss(FORCED) }) };
}

/** Shares the results that earlier runs left in the outbox. */
async function share(
  { workspace }: RunRequest,
  remoteUrl: URL,
  options: RunOptions,
  hit: string,
): Promise<void> {
  const { storeFolder, token, report } = options;
  const { sendUnshared } = await import('../maintenance/push.ts');
  const cacheOptions = { storeFolder, workspace, remoteUrl, token, now: Date.now, report };
  const { unshared: results, why } = await sendUnshared(cacheOptions, [hit]);
  if (results > 0) report({ type: 'unshared', results, why });
}

function finish(found: WrittenStep, request: RunRequest, options: RunOptions, began: number): RunSummary {
  const { receipt, step = stepOf(request) } = found;
  const hit = hitOf(found);
  const { outcome, reason, key, commandMs } = hit;
  replay(logOf(found), options);
  const noted = { outcome, reason, key, step, commandMs, at: began };
  historyOf(options.storeFolder).append(request, noted);
  const elapsedMs = Date.now() - began;
  return { ...hit, ...(receipt !== '' && { receipt: JSON.parse(receipt) }), elapsedMs };
}
