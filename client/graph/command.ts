// `assay run STEP…`: reads the flags, selects the graph, then runs, watches, forecasts or draws it.
import { relative } from 'node:path';
import { type Flag, type ParsedFlags, parseFlags, usage } from '../../core/cli/command.ts';
import { relPathFromUser } from '../../core/path.ts';
import { exitCodeOfSignal } from '../../hermeticity/trace/exit-status.ts';
import type { Step } from '../config/step.ts';
import { currentFolder } from '../files/current-folder.ts';
import { storeFolder } from '../local-store/store-folder.ts';
import { onSignal } from '../process/launch.ts';
import type { HitChecks } from '../run/context.ts';
import type { OpenStepHook } from '../run/step-hook.ts';
import { jsonForm } from '../terminal/json-form.ts';
import { inOneLine, SyncStream } from '../terminal/sync-stream.ts';
import { type Graph, graphOf } from './graph.ts';
import { type OpenedWorkspace, openWorkspace } from './opened-workspace.ts';
import { selectSteps } from './select/selection.ts';
import { cacheOptionsOf, openSession, type RunHooks, type SessionFlag } from './session.ts';
import type { WatchedPaths } from './watched-paths.ts';

/** What a run of steps reads. A flag of its table that is missing here does not compile, and neither does the reverse. */
export type GraphFlag =
  | SessionFlag
  | 'affected'
  | 'check-hits'
  | 'check-seed'
  | 'dry-run'
  | 'filter'
  | 'graph'
  | 'package'
  | 'watch';

type GraphFlags = ParsedFlags<GraphFlag>;

/** `sampleFrom`: the hits to check, from the flags. `stepHook`: what wings do around commands. */
export async function runSteps(
  args: readonly string[],
  table: Readonly<Record<GraphFlag, Flag>>,
  sampleFrom: (flags: GraphFlags) => Promise<HitChecks | undefined>,
  stepHook: OpenStepHook,
): Promise<number> {
  const flags = parseFlags(args, table);
  const sample = await sampleFrom(flags);
  if (flags.given('watch')) {
    const other = (['dry-run', 'graph'] as const).find((flag) => flags.given(flag));
    if (other) throw usage(`--watch and --${other} can’t be combined: --${other} runs no step`);
    return watch(flags, stepHook);
  }
  const still = (['dry-run', 'graph'] as const).find((flag) => flags.given(flag));
  if (still && jsonForm(flags) === 'short')
    throw usage(
      `--json=short tells of a run, and --${still} runs no step: \`assay status --json\` tells what would hit`,
    );
  const { workspace, graph } = await selectGraph(flags);
  if (flags.given('graph')) return print(flags, workspace, graph);
  return flags.given('dry-run')
    ? printForecast(flags, workspace, graph)
    : run(flags, workspace, graph, { sample, stepHook });
}

interface SelectedGraph {
  readonly workspace: OpenedWorkspace;
  readonly graph: Graph;
}

async function selectGraph(flags: GraphFlags): Promise<SelectedGraph> {
  const store = storeFolder(flags.text('store'), process.env);
  const workspace = await openWorkspace(currentFolder(), store, process.env);
  const { steps, root } = workspace;
  const names = flags.positionals;
  const wantsAll = (['graph', 'dry-run', 'affected'] as const).some((flag) => flags.given(flag));
  if (names.length === 0 && !wantsAll) throw missingName(workspace);
  const folder = relPathFromUser(relative(root, currentFolder()));
  const filtered = await filteredPackages(flags, root);
  const wanted = selectSteps({ names, packages: flags.all('package'), filtered, folder }, steps);
  const ref = flags.text('affected');
  if (ref === undefined) return { workspace, graph: graphOf(wanted, steps) };
  const { order } = graphOf(wanted, steps);
  const reached = await affectedSteps(ref, workspace, order, flags);
  return {
    workspace,
    graph: graphOf(
      wanted.filter(({ id }) => reached.has(id)),
      steps,
    ),
  };
}

/** The remembered state of a workspace has no dependencies of packages, so their files are read. */
async function filteredPackages(flags: GraphFlags, root: string): Promise<ReadonlySet<string> | undefined> {
  const texts = flags.all('filter');
  if (texts.length === 0) return undefined;
  const [{ filterPackages, parseFilter }, { changedPaths }, { readPackages }, { StatRecorder }] =
    await Promise.all([
      import('./select/filter.ts'),
      import('./changed-paths.ts'),
      import('../config/packages.ts'),
      import('../files/stat-recorder.ts'),
    ]);
  const filters = texts.map(parseFilter);
  const changedSince = (ref: string) =>
    changedPaths(root, ref, process.env, `--filter [${ref}]`).map(({ path }) => path);
  return filterPackages(filters, await readPackages(new StatRecorder(root)), changedSince);
}

async function affectedSteps(
  ref: string,
  workspace: OpenedWorkspace,
  asked: readonly Step[],
  flags: GraphFlags,
): Promise<ReadonlySet<string>> {
  const [{ affectedBy }, { knownReads }, { openStepRunner }] = await Promise.all([
    import('./affected.ts'),
    import('./known-reads.ts'),
    import('./step-runner.ts'),
  ]);
  const { steps, root } = workspace;
  const caller = { ...process.env };
  const runner = openStepRunner({ ...cacheOptionsOf(flags, workspace, caller), report() {} });
  try {
    const change = { root, steps, caller };
    return await affectedBy(ref, change, asked, (step) => knownReads(step, change, runner.cache));
  } finally {
    await runner.close();
  }
}

/** Of the steps in an error: a workspace may have thousands. */
const MOST_NAMED = 20;

function missingName({ steps }: OpenedWorkspace): Error {
  const names = [...new Set([...steps.values()].map(({ name }) => name))];
  const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : '';
  const named = `Steps: ${names.slice(0, MOST_NAMED).join(', ')}${more}.`;
  return usage(`name a step. ${names.length > 0 ? named : 'There are none yet.'}`);
}

async function run(
  flags: GraphFlags,
  workspace: OpenedWorkspace,
  graph: Graph,
  hooks: RunHooks,
): Promise<number> {
  const interruption = new Interruption();
  const session = openSession(flags, workspace, hooks);
  try {
    const { exitCode } = await session.run(graph, () => interruption.exitCode);
    return exitCode;
  } finally {
    interruption.release();
    await session.close();
  }
}

/** Each round reads the workspace again, because a change may be one of its configuration. */
async function watch(flags: GraphFlags, stepHook: OpenStepHook): Promise<number> {
  const { ChangeWatcher } = await import('./watch.ts');
  const interruption = new Interruption();
  let selected = await selectGraph(flags);
  const changes = new ChangeWatcher(selected.workspace.root);
  try {
    for (;;) {
      const session = openSession(flags, selected.workspace, { stepHook });
      await session.run(selected.graph, () => interruption.exitCode).finally(() => session.close());
      const watched = await watchedPaths(flags, selected, session.context.strayWrites);
      const changed = await changes.next(interruption.requested, (path) => watched.has(path));
      if (changed === undefined) return interruption.exitCode ?? 0;
      new SyncStream(2).write(`assay: ${inOneLine(changed)} changed\n`);
      selected = await reselect(flags, selected);
    }
  } finally {
    changes.close();
    interruption.release();
  }
}

/** The paths that the next round depends on, as the last round showed. */
async function watchedPaths(
  flags: GraphFlags,
  { workspace, graph }: SelectedGraph,
  strayWrites: ReadonlySet<string>,
): Promise<WatchedPaths> {
  const endedAt = Date.now();
  const [{ WatchedPaths }, { readSeenPaths }] = await Promise.all([
    import('./watched-paths.ts'),
    import('./seen-paths.ts'),
  ]);
  const { order } = graph;
  const around = { root: workspace.root, steps: workspace.steps, caller: process.env };
  const seen = await readSeenPaths(storeFolder(flags.text('store'), process.env), around, order);
  const summary = flags.text('summary');
  const own = summary === undefined ? [] : [summary];
  return new WatchedPaths({ ...around, order, seen, strayWrites, endedAt, own });
}

/**
 * An assay.json with an error, perhaps half edited: report it and keep the configuration that was read
 * before.
 */
async function reselect(flags: GraphFlags, before: SelectedGraph): Promise<SelectedGraph> {
  try {
    return await selectGraph(flags);
  } catch (error) {
    new SyncStream(2).write(`assay: ${error instanceof Error ? error.message : error}\n`);
    return before;
  }
}

async function printForecast(flags: GraphFlags, workspace: OpenedWorkspace, graph: Graph): Promise<number> {
  const { forecast } = await import('./dry-run.ts');
  const session = openSession(flags, workspace);
  try {
    const found = await forecast(graph, session.context);
    const lines = flags.given('json')
      ? found.map((one) => JSON.stringify(one))
      : found.map(({ step, outcome, key, why }) => {
          const shortKey = key === undefined ? '' : ` ${key.slice(0, 12)}`;
          return `${step}  ${outcome}${shortKey}: ${why}`;
        });
    new SyncStream(1).write(lines.map((line) => `${line}\n`).join(''));
    return 0;
  } finally {
    await session.close();
  }
}

async function print(flags: GraphFlags, workspace: OpenedWorkspace, graph: Graph): Promise<number> {
  const { DRAWINGS, draw } = await import('./drawing.ts');
  const wanted = flags.text('graph') || 'mermaid';
  const drawing = DRAWINGS.find((one) => one === wanted);
  if (!drawing) throw usage(`--graph takes ${DRAWINGS.join(', ')}, not ${JSON.stringify(wanted)}`);
  const text = drawing === 'html' ? await page(flags, workspace, graph) : draw(graph, drawing);
  new SyncStream(1).write(text);
  return 0;
}

/** The HTML page, with the forecast of --dry-run. */
async function page(flags: GraphFlags, workspace: OpenedWorkspace, graph: Graph): Promise<string> {
  const [{ forecast }, { graphPage }] = await Promise.all([import('./dry-run.ts'), import('./page/page.ts')]);
  const session = openSession(flags, workspace);
  try {
    const found = await forecast(graph, session.context);
    return graphPage(graph, {
      root: workspace.root,
      forecasts: new Map(found.map((one) => [one.step, one])),
      affectedSince: flags.text('affected'),
      now: new Date(),
    });
  } finally {
    await session.close();
  }
}

/**
 * StepReports a signal, so that no new step begins. Running commands get the signal from their own launcher.
 */
class Interruption {
  exitCode: number | undefined;
  readonly requested: Promise<void>;
  readonly release: () => void;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.requested = promise;
    this.release = onSignal((signal) => {
      this.exitCode ??= exitCodeOfSignal(signal);
      resolve();
    });
  }
}
