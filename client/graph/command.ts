// `assay run STEP…`: from flags to a graph, from a graph to a screen.
import { realpathSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { relative } from 'node:path';
import { type FlagTable, type ParsedFlags, parseFlags, parseNumber, usage } from '../../core/command.ts';
import { GRAPH } from '../../core/limits.ts';
import { relPathFromUser } from '../../core/path.ts';
import { openCache } from '../cache.ts';
import { loadWorkspace, type Workspace } from '../config/workspace.ts';
import { exitCodeOf, onSignal } from '../launch.ts';
import { parseRemoteUrl } from '../remote/url.ts';
import { storeFolder } from '../store-folder.ts';
import { type Graph, graphOf, refuseSharedOutputs } from './graph.ts';
import { runGraph } from './run-graph.ts';
import { select } from './selection.ts';
import { openView } from './view/view.ts';

export async function runSteps(args: readonly string[], table: FlagTable): Promise<number> {
  const flags = parseFlags(args, table);
  const workspace = await loadWorkspace(process.cwd());
  const graph = chooseSteps(flags, workspace);
  return execute(graph, workspace, flags);
}

function chooseSteps(flags: ParsedFlags, workspace: Workspace): Graph {
  const { steps, root } = workspace;
  refuseSharedOutputs(steps);
  const names = flags.positionals;
  if (names.length === 0) throw namesWanted(workspace);
  const folder = relPathFromUser(relative(root, realpathSync(process.cwd())));
  return graphOf(select({ names, packages: flags.all('package'), folder }, steps), steps);
}

function namesWanted({ steps }: Workspace): Error {
  const names = [...new Set([...steps.values()].map(({ name }) => name))];
  return usage(`which step? ${names.length > 0 ? `There are ${names.join(', ')}.` : 'There are none yet.'}`);
}

async function execute(graph: Graph, workspace: Workspace, flags: ParsedFlags): Promise<number> {
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
  let interrupted: number | undefined;
  const release = onSignal((signal) => {
    interrupted ??= exitCodeOf(signal);
  });
  try {
    const summary = await runGraph(graph, {
      workspace,
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
