// `assay run -- COMMAND`: runs one action and reports the outcome. `assay run STEP` goes to
// ../graph/command.ts.
import { type CommandModule, type FlagTable, type ParsedFlags, usage } from '../../core/cli/command.ts';
import type { RunRequest } from '../action/request.ts';
import type { HitSample, SampleFlag } from '../check-hits/hit-sample.ts';
import { actionLeaseFrom } from '../lease/mode.ts';
import { storeFolder } from '../local-store/store-folder.ts';
import { remoteToken } from '../remote/token.ts';
import { ActionReport } from '../report/action-report.ts';
import { retriesFrom } from '../retry/retry.ts';
import { Reporter } from '../run/reporter.ts';
import type { OpenStepHook } from '../run/step-hook.ts';
import type { ShortAction } from '../short/action-answer.ts';
import { jsonFlag, jsonForm } from '../terminal/json-form.ts';
import { SyncStream } from '../terminal/sync-stream.ts';
import { ACTION_FLAGS, parseAction, RUN_FLAGS } from './action-flags.ts';
import { GRAPH_FLAGS } from './graph-flags.ts';
import { STORE_FLAGS } from './store-flags.ts';

const flags = {
  ...ACTION_FLAGS,
  ...RUN_FLAGS,
  force: GRAPH_FLAGS.force,
  retry: GRAPH_FLAGS.retry,
  'check-hits': GRAPH_FLAGS['check-hits'],
  'check-seed': GRAPH_FLAGS['check-seed'],
  verbose: GRAPH_FLAGS.verbose,
  'action-lease': GRAPH_FLAGS['action-lease'],
  'no-report': GRAPH_FLAGS['no-report'],
  store: STORE_FLAGS.store,
  remote: {
    type: 'string',
    value: 'URL',
    text: 'a shared cache: http://, https://, or grpc://, grpcs:// for any server of the Remote Execution API (default: ASSAY_REMOTE)',
  },
  json: jsonFlag(
    'print one JSON object as the last line of standard error; with STEP, one event per line on standard output',
  ),
} satisfies FlagTable;

const STEP_FLAGS = { ...GRAPH_FLAGS, store: flags.store, remote: flags.remote, json: flags.json };

export const runCommand = (stepHook: OpenStepHook): CommandModule => ({
  failureCode: 125,
  help: {
    usage: 'assay run [FLAGS] STEP …\n       assay run [FLAGS] -- COMMAND [ARGUMENTS]',
    text: [
      'Runs steps of an assay.json, or one COMMAND, and caches the result.',
      '',
      'assay run STEP runs each step after its dependencies, as many at a time as there are cores. A STEP is',
      'a name ("build": of every package, or of the package in whose folder you are), "pkg#build", or a glob.',
      '',
      'assay run -- COMMAND runs COMMAND in this folder, the workspace. If the same action ran before, it does',
      'not run again: Assay restores its outputs, prints its log and returns its exit code. An action is the',
      'same if its command, inputs, declared variables, tools, platform and outputs are the same. All paths',
      'are relative to the workspace.',
      '',
      'COMMAND sees only its declared variables and SHELL=/bin/sh, TZ=UTC, LC_ALL=C.UTF-8, HOME and TMPDIR',
      '(both empty folders), and PATH. This PATH is not yours: it holds the declared tools in unusual places, then',
      'node_modules/.bin of its package and of the folders above, inside the workspace, then /usr/local/sbin,',
      '/usr/local/bin, /usr/sbin, /usr/bin, /sbin, /bin. Assay searches tools in node_modules/.bin and on your',
      'PATH. Standard input is empty. MYPY_CACHE_DIR, RUFF_CACHE_DIR and PYTHONDONTWRITEBYTECODE (or',
      'PYTHONPYCACHEPREFIX) keep the caches of these tools out of the tree.',
      '',
      'WARNING: do not declare a private key as an output. Assay stores the content of outputs and the',
      'executable bit, no other permissions: a file that only you could read is restored as a normal one.',
    ].join('\n'),
    flags: { ...GRAPH_FLAGS, ...flags },
    environment: {
      ASSAY_STORE: 'the local store’s folder',
      ASSAY_REMOTE: 'the remote’s URL; a failing remote never fails a run',
      ASSAY_TOKEN: 'sent to the remote as a Bearer token; never passed to COMMAND',
      ASSAY_REPORT:
        '0: do not report the run to an Assay server. A report has names, digests and durations, and no values of variables. The end of what a failed step printed goes with it',
      ASSAY_ACTION_LEASE: 'off: as --action-lease=off; auto: the default',
      ASSAY_WHERE:
        'the name of this machine or job in receipts (default: the address of the CI job, or the host’s name)',
    },
    exitCodes: {
      'of COMMAND': 'the command’s own code, run or replayed; 128+N if signal N ended it',
      '3': 'with --hermetic=strict: COMMAND succeeded, but accessed more than it declared, and nothing is cached; or --check-hits found a stale hit. Its outputs stay',
      '125': 'Assay refused the request; nothing ran',
      '127': 'COMMAND was not found',
    },
    examples: [
      'assay run build test',
      "assay run --package '@app/*' --keep-going 'test:*'",
      'assay run --affected=origin/main --dry-run test',
      "assay run --filter '...[origin/main]' --filter '!@app/docs' test",
      "assay run --input 'src/**' --output dist --env NODE_ENV --tool node -- node build.js",
      "assay run --input 'src/*.c' --input '!src/gen.c' --output app -- cc -o app src/main.c",
    ],
  },
  async main(args) {
    if (!declaresAction(args)) {
      refuseMisplaced(args, flags, STEP_FLAGS, 'goes with `-- COMMAND`; a step declares it in assay.json');
      const { runSteps } = await import('../graph/command.ts');
      return runSteps(args, STEP_FLAGS, (given) => sampleFrom(given, stepHook), stepHook);
    }
    refuseMisplaced(args, GRAPH_FLAGS, flags, 'goes with the steps of an assay.json, not with `-- COMMAND`');
    const { runUnlessUpToDate } = await import('../up-to-date/run-unless-up-to-date.ts');
    const { flags: parsed, request } = parseAction('run', args, flags);
    const sample = await sampleFrom(parsed, stepHook);
    const stderr = new SyncStream(2);
    const json = jsonForm(parsed);
    const short = json === 'short' ? await shortAnswerOf(request) : undefined;
    const reporter = new Reporter(stderr, json === 'all', parsed.given('verbose'), sample);
    const caller = process.env;
    const report = new ActionReport({ request, caller, began: Date.now() });
    const isReported = !parsed.given('no-report') && caller.ASSAY_REPORT !== '0';
    const summary = await runUnlessUpToDate(request, {
      storeFolder: storeFolder(parsed.text('store'), caller),
      remote: parsed.text('remote') ?? caller.ASSAY_REMOTE,
      token: remoteToken(),
      force: parsed.given('force'),
      retries: retriesFrom(parsed),
      sample,
      stepHook,
      actionLease: actionLeaseFrom(parsed, caller),
      caller,
      stdout: short?.output ?? new SyncStream(1),
      stderr: short?.output ?? stderr,
      report(event) {
        (short ?? reporter).report(event);
        report.handle(event);
      },
      ...(isReported && { sendReport: (ran, target) => report.send(ran, target) }),
    });
    if (short) new SyncStream(1).write(short.answer(summary));
    else reporter.summary(summary);
    return summary.exitCode;
  },
});

async function shortAnswerOf(request: RunRequest): Promise<ShortAction> {
  const { ShortAction } = await import('../short/action-answer.ts');
  return new ShortAction(request);
}

/** Loaded late: few runs check their hits. */
async function sampleFrom(
  flags: ParsedFlags<SampleFlag>,
  stepHook: OpenStepHook,
): Promise<HitSample | undefined> {
  if (!flags.given('check-hits') && !flags.given('check-seed')) return undefined;
  const { hitSampleFrom } = await import('../check-hits/hit-sample.ts');
  return hitSampleFrom(flags, stepHook);
}

/** Names the right form for a flag that belongs to the other one. */
function refuseMisplaced(args: readonly string[], others: FlagTable, own: FlagTable, why: string): void {
  const end = args.indexOf('--');
  for (const arg of args.slice(0, end === -1 ? undefined : end)) {
    const name = arg.replace(/^--|=.*$/gs, '');
    const isMisplaced = arg.startsWith('--') && Object.hasOwn(others, name) && !Object.hasOwn(own, name);
    if (isMisplaced) throw usage(`--${name} ${why}`);
  }
}

/** True for `-- COMMAND`, or for a flag that only this form has. */
function declaresAction(args: readonly string[]): boolean {
  const names = args.map((arg) => arg.replace(/^--|=.*$/gs, ''));
  return (
    args.includes('--') || names.some((name, at) => args[at] !== name && Object.hasOwn(ACTION_FLAGS, name))
  );
}
