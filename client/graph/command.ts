// `assay run STEP…`: from flags to a graph, from a graph to a screen.
import { realpathSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, relative } from 'node:path';
import { type FlagTable, type ParsedFlags, parseFlags, parseNumber, usage } from '../../core/command.ts';
import { GRAPH } from '../../core/limits.ts';
import { relPathFromUser } from '../../core/path.ts';
import { openCache } from '../cache.ts';
import { exitCodeOf, onSignal } from '../launch.ts';
import { parseRemoteUrl } from '../remote/url.ts';
import { storeFolder } from '../store-folder.ts';
import { type Graph, graphOf } from './graph.ts';
import { GraphMemory } from './memory.ts';
import { type OpenedWorkspace, openWorkspace } from './opened-workspace.ts';
import { runGraph } from './run-graph.ts';
import { select } from './selection.ts';
import { openView } from './view/view.ts';

export async function runSteps(args: readonly string[], table: FlagTable): Promise<number> {
  const flags = parseFlags(args, table);
  const workspace = await openWorkspace(process.cwd(), memoFolder(flags), process.env);
  const graph = chooseSteps(flags, workspace);
  return execute(graph, workspace, flags);
}

function memoFolder(flags: ParsedFlags): string {
  return join(storeFolder(flags.text('store'), process.env), 'client', 'graph');
}

function chooseSteps(flags: ParsedFlags, workspace: OpenedWorkspace): Graph {
  const { steps, root } = workspace;
  const names = flags.positionals;
  if (names.length === 0) throw namesWanted(workspace);
  const folder = relPathFromUser(relative(root, realpathSync(process.cwd())));
  return graphOf(select({ names, packages: flags.all('package'), folder }, steps), steps);
}

function namesWanted({ steps }: OpenedWorkspace): Error {
  const names = [...new Set([...steps.values()].map(({ name }) => name))];
  return usage(`which step? ${names.length > 0 ? `There are ${names.join(', ')}.` : 'There are none yet.'}`);
}

async function execute(graph: Graph, workspace: OpenedWorkspace, flags: ParsedFlags): Promise<number> {
  const view = openView(flags, process.env);
  const remote = flags.text('remote') ?? process.env.ASSAY_REMOTE;
  const cache = openCache({
    storeFolder: storeFolder(flags.text('store'), process.env),
    workspace: workspace.root,
    remoteUrl: remote ? parseRemoteUrl(remote) : undefined,
    token: process.env.ASSAY_TOKEN,
    now: Date.now,
    report: (event) => view.warn(event),
  });
  const memory = new GraphMemory({ ...workspace, folder: memoFolder(flags), caller: process.env });
  let interrupted: number | undefined;
  const release = onSignal((signal) => {
    interrupted ??= exitCodeOf(signal);
  });
  try {
    const summary = await runGraph(graph, {
      workspace,
      memory,
      cache,
      caller: process.env,
      hear: (event) => view.hear(event),
      now: Date.now,
      jobs: jobsFrom(flags.text('jobs')),
      keepGoing: flags.given('keep-going'),
      force: flags.given('force'),
      interrupted: () => interrupted,
    });
    view.finish(summary);
    memory.save();
    return summary.exitCode;
  } finally {
    release();
    await cache.close();
  }
}

function jobsFrom(text: string | undefined): number {
  const jobs = text === undefined ? availableParallelism() : parseNumber('--jobs', text, 1, GRAPH.maxJobs);
  // Each command that runs listens for the signals that end Assay.
  process.setMaxListeners(Math.max(process.getMaxListeners(), jobs + 10));
  return jobs;
}
