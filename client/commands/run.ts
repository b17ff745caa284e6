// `assay run`: reads the flags, runs one action, says how it went. Without a command of its own it is about the steps of
// an assay.json (client/graph/command.ts).
import { type CommandModule, type FlagTable, usage } from '../../core/cli/command.ts';
import { storeFolder } from '../local-store/store-folder.ts';
import { Reporter } from '../run/reporter.ts';
import { SyncStream } from '../terminal/sync-stream.ts';
import { ACTION_FLAGS, parseAction, RUN_FLAGS } from './action-flags.ts';
import { GRAPH_FLAGS } from './graph-flags.ts';
import { STORE_FLAGS } from './store-flags.ts';

const flags = {
  ...ACTION_FLAGS,
  ...RUN_FLAGS,
  force: GRAPH_FLAGS.force,
  store: STORE_FLAGS.store,
  remote: {
    type: 'string',
    value: 'URL',
    text: 'a shared cache: http://, https://, or grpc://, grpcs:// for any server of the Remote\nExecution API (default: ASSAY_REMOTE)',
  },
  json: {
    type: 'boolean',
    text: 'the last line of standard error is one JSON object; with STEP, events on standard output, one a line',
  },
} satisfies FlagTable;

const STEP_FLAGS = { ...GRAPH_FLAGS, store: flags.store, remote: flags.remote, json: flags.json };

export const runCommand: CommandModule = {
  failureCode: 125,
  help: {
    usage: 'assay run [FLAGS] STEP …\n       assay run [FLAGS] -- COMMAND [ARGUMENTS]',
    text: [
      'Runs steps that an assay.json declares, each after those that it depends on, as many side by side as there are',
      'cores. A STEP is a name ("build": of every package, or of the one whose folder this is), "pkg#build", or a glob.',
      '',
      'Runs COMMAND in this folder, the workspace, unless the same action has run before: then its outputs are put in',
      'place, its log is said again and its exit code is given back. The same action means: the same command, inputs,',
      'declared variables, tools, platform and outputs. All paths are relative to the workspace.',
      '',
      'COMMAND sees only the declared variables and SHELL=/bin/sh, TZ=UTC, LC_ALL=C.UTF-8, HOME and TMPDIR (empty folders of its',
      'own) and PATH, which is not yours: it is /usr/local/sbin, /usr/local/bin, /usr/sbin, /usr/bin, /sbin, /bin, and before',
      'them those of its tools that lie elsewhere. Programs are looked for on your PATH. Standard input is empty.',
      '',
      'Of outputs their content is kept, and whether they are executable; no other permissions, so a file that only you',
      'could read comes back as any other. Make no private key an output.',
    ].join('\n'),
    flags: { ...GRAPH_FLAGS, ...flags },
    environment: {
      ASSAY_STORE: 'the local store’s folder',
      ASSAY_REMOTE: 'the remote’s URL; its faults never change what a run does',
      ASSAY_TOKEN: 'sent to the remote as a Bearer token; never passed to COMMAND',
    },
    exitCodes: {
      'of COMMAND': 'whether it ran or was replayed; 128+N if signal N ended it',
      '3': 'with --hermetic=strict: COMMAND went well, but saw or did more than it declared\n(its outputs stay, nothing is kept in a cache)',
      '125': 'Assay refused the request; nothing ran',
      '127': 'COMMAND was not found',
    },
    examples: [
      'assay run build test',
      "assay run --package '@app/*' --keep-going 'test:*'",
      'assay run --affected=origin/main --dry-run test',
      "assay run --input 'src/**' --output dist --env NODE_ENV --tool node -- node build.js",
      "assay run --input 'src/*.c' --input '!src/gen.c' --output app -- cc -o app src/main.c",
    ],
  },
  async main(args) {
    if (!declaresAction(args)) {
      refuseMisplaced(args, flags, STEP_FLAGS, 'goes with `-- COMMAND`; a step says it in assay.json');
      const { runSteps } = await import('../graph/command.ts');
      return runSteps(args, STEP_FLAGS);
    }
    refuseMisplaced(args, GRAPH_FLAGS, flags, 'goes with the steps of an assay.json, not with `-- COMMAND`');
    const { runUnlessUpToDate } = await import('../up-to-date/run-unless-up-to-date.ts');
    const { flags: parsed, request } = parseAction('run', args, flags);
    const stderr = new SyncStream(2);
    const reporter = new Reporter(stderr, parsed.given('json'));
    const summary = await runUnlessUpToDate(request, {
      storeFolder: storeFolder(parsed.text('store'), process.env),
      remote: parsed.text('remote') ?? process.env.ASSAY_REMOTE,
      token: process.env.ASSAY_TOKEN,
      force: parsed.given('force'),
      caller: process.env,
      stdout: new SyncStream(1),
      stderr,
      report: reporter.report,
    });
    reporter.summary(summary);
    return summary.exitCode;
  },
};

/** A flag of the other way to run is not unknown. */
function refuseMisplaced(args: readonly string[], others: FlagTable, own: FlagTable, why: string): void {
  const end = args.indexOf('--');
  for (const arg of args.slice(0, end === -1 ? undefined : end)) {
    const name = arg.replace(/^--|=.*$/gs, '');
    const isMisplaced = arg.startsWith('--') && Object.hasOwn(others, name) && !Object.hasOwn(own, name);
    if (isMisplaced) throw usage(`--${name} ${why}`);
  }
}

/** A command of its own, or a flag that only such a command has. */
function declaresAction(args: readonly string[]): boolean {
  const names = args.map((arg) => arg.replace(/^--|=.*$/gs, ''));
  return (
    args.includes('--') || names.some((name, at) => args[at] !== name && Object.hasOwn(ACTION_FLAGS, name))
  );
}
