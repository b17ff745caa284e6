// `assay bazel-worker`: a persistent Bazel worker around any tool. Without --persistent_worker the tool runs
// once, uncached.
import { readFileSync } from 'node:fs';
import { parseVariable } from '../../client/action/declared-variables.ts';
import { flagsOf, optionsIn } from '../../client/commands/action-flags.ts';
import { STORE_FLAGS } from '../../client/commands/store-flags.ts';
import { currentFolder } from '../../client/files/current-folder.ts';
import { storeFolder } from '../../client/local-store/store-folder.ts';
import { onSignal } from '../../client/process/launch.ts';
import { remoteToken } from '../../client/remote/token.ts';
import { parseRemoteUrl } from '../../client/remote/url.ts';
import { type Cache, openCache } from '../../client/run/caches.ts';
import { Reporter } from '../../client/run/reporter.ts';
import type { Report } from '../../client/terminal/events.ts';
import { SyncStream } from '../../client/terminal/sync-stream.ts';
import type { CommandModule, FlagTable, ParsedFlags } from '../../core/cli/command.ts';
import { parseFlags, usage } from '../../core/cli/command.ts';
import { NO_INPUTS } from './bazel-inputs.ts';
import { serveBazel } from './loop.ts';
import { type WorkerOptions, type WorkResult, work } from './work.ts';

const flags = {
  'output-flag': {
    type: 'string',
    multiple: true,
    value: 'NAME',
    text: 'the argument after NAME (`NAME PATH` or `NAME=PATH`) is an output; for a tool that takes --out PATH write --output-flag=--out',
  },
  // Its requests name inputs and outputs.
  ...flagsOf(['env', 'tools', 'hermetic', 'keepUnproven']),
  store: STORE_FLAGS.store,
  remote: { type: 'string', value: 'URL', text: 'a shared cache (default: ASSAY_REMOTE)' },
} satisfies FlagTable;

const PERSISTENT = '--persistent_worker';

export const bazelWorkerCommand: CommandModule = {
  failureCode: 125,
  help: {
    usage: 'assay bazel-worker [FLAGS] -- TOOL [ARGUMENTS]',
    text: [
      'A persistent worker for Bazel that runs TOOL for each request, and caches the result. If the same request',
      'ran before, Assay restores its outputs and prints its output again. Requests are the same if tool and',
      'arguments are the same, and the inputs by the digests that Bazel sends. A request with an input without',
      'a digest is not cached.',
      '',
      'TOOL is watched, as with `assay run`. What it reads beyond the inputs is compared before each hit.',
      '',
      'Every output of a request must be named: by --output-flag, or by --assay-output=PATH among the',
      'arguments, which TOOL does not see. An output that is not named is missing after a hit.',
      '',
      'The rule needs a param file (use_param_file("@%s", use_always = True),',
      'set_param_file_format("multiline")) and execution_requirements = {"supports-workers": "1"}, but not',
      'supports-multiplex-workers. TOOL sees only declared variables, as with `assay run`. If Bazel does not use',
      'it as a worker, TOOL runs once, uncached.',
    ].join('\n'),
    flags,
    environment: {
      ASSAY_STORE: 'the local store’s folder',
      ASSAY_REMOTE: 'the remote’s URL; a failing remote never fails a request',
      ASSAY_TOKEN: 'sent to the remote as a Bearer token; never passed to TOOL',
    },
    exitCodes: {
      '0': 'Bazel closed the connection',
      '125': 'Assay refused its flags, or a request was malformed',
    },
    examples: ['assay bazel-worker --output-flag=--out -- ./compiler --fast'],
  },
  async main(args) {
    const end = args.indexOf('--');
    const [tool, ...rest] = end === -1 ? [] : args.slice(end + 1);
    if (!tool) throw usage('put the tool after `--`: assay bazel-worker [FLAGS] -- TOOL');
    const parsed = parseFlags(args.slice(0, end), flags);
    const [stray] = parsed.positionals;
    if (stray !== undefined) throw usage(`${JSON.stringify(stray)} is no flag; put the tool after \`--\``);
    const { report } = new Reporter(new SyncStream(2), false);
    const workspace = currentFolder();
    const cache = open(parsed, workspace, report);
    try {
      const startup = rest.filter((arg) => arg !== PERSISTENT);
      const worker = optionsOf(parsed, [tool, ...startup], { workspace, cache, report });
      return rest.includes(PERSISTENT) ? await serve(worker) : await runOnce(worker);
    } finally {
      await cache.close();
    }
  },
};

function open(parsed: ParsedFlags, workspace: string, report: Report): Cache {
  const remote = parsed.text('remote') ?? process.env.ASSAY_REMOTE;
  return openCache({
    storeFolder: storeFolder(parsed.text('store'), process.env),
    workspace,
    remoteUrl: remote ? parseRemoteUrl(remote) : undefined,
    token: remoteToken(),
    now: Date.now,
    report,
  });
}

function optionsOf(
  parsed: ParsedFlags,
  command: [string, ...string[]],
  rest: Pick<WorkerOptions, 'workspace' | 'cache' | 'report'>,
): WorkerOptions {
  return {
    ...rest,
    command,
    outputFlags: parsed.all('output-flag'),
    variables: parsed.all('env').map(parseVariable),
    tools: parsed.all('tool'),
    options: optionsIn(parsed),
    caller: process.env,
    now: Date.now,
  };
}

/** Logs the outcome of each request to the worker's log, which Bazel keeps. */
async function serve(worker: WorkerOptions): Promise<number> {
  const log = new SyncStream(2);
  await serveBazel(async (args, inputs, signal) => {
    const worked = await obeyingSignals(() => work(args, inputs, worker, signal));
    log.write(`assay: ${sentence(worked)}\n`);
    return { succeeded: worked.exitCode === 0, output: worked.output };
  });
  return 0;
}

/** After a signal, which ends the tool, ends the worker too; it would wait for the next request. */
async function obeyingSignals<T>(act: () => Promise<T>): Promise<T> {
  let received: NodeJS.Signals | undefined;
  const release = onSignal((signal) => {
    received = signal;
  });
  try {
    return await act();
  } finally {
    release();
    if (received) process.kill(process.pid, received);
  }
}

function sentence({ summary, notPublished, uncached }: WorkResult): string {
  if (!summary) return `uncached: ${uncached}`;
  const { outcome, key, reason } = summary;
  const kept = notPublished === undefined ? '' : `, not stored: ${notPublished}`;
  return `${outcome} ${key.slice(0, 12)}: ${reason}${kept}`;
}

/** Without workers Bazel passes a file with the request's arguments as the last argument. */
async function runOnce(worker: WorkerOptions): Promise<number> {
  const [tool, ...startup] = worker.command;
  const file = startup.at(-1)?.startsWith('@') ? startup.pop()?.slice(1) : undefined;
  const sent =
    file === undefined
      ? []
      : readFileSync(file, 'utf8')
          .split('\n')
          .filter((line) => line !== '');
  const { exitCode, output } = await work(sent, NO_INPUTS, { ...worker, command: [tool, ...startup] });
  new SyncStream(1).write(output);
  return exitCode;
}
