// The one entry of `assay`: finds the command, answers --help and --version, and turns a refusal into words and a code.
// Commands are imported when asked for, so that a hit does not pay for the server.
import { SyncStream } from '../client/terminal/sync-stream.ts';
import { type CommandModule, renderHelp, suggestion } from '../core/cli/command.ts';
import { formatColumns, wrapText } from '../core/cli/layout.ts';
import { AssayError, isSystemError, messageOf } from '../core/errors.ts';
import { VERSION } from '../core/version.ts';

interface Entry {
  readonly summary: string;
  load(): Promise<CommandModule>;
}

const COMMANDS: Readonly<Record<string, Entry>> = {
  run: {
    summary: 'run steps or a command, or restore what they made the last time their inputs were the same',
    load: async () => (await import('../client/commands/run.ts')).runCommand,
  },
  audit: {
    summary: 'run a command under a tracer and tell what it did beyond its declaration',
    load: async () => (await import('../client/commands/audit.ts')).auditCommand,
  },
  reproduce: {
    summary: 'run a command again under other conditions and tell what its result depends on',
    load: async () => (await import('../client/commands/reproduce.ts')).reproduceCommand,
  },
  explain: {
    summary: 'say why the last run here, of a step or with a key, hit or missed',
    load: async () => (await import('../client/commands/explain.ts')).explainCommand,
  },
  init: {
    summary: 'write a first assay.json from scripts or a Makefile, by watching what they do',
    load: async () => (await import('../client/commands/init.ts')).initCommand,
  },
  diff: {
    summary: 'tell what differs between two keys',
    load: async () => (await import('../client/commands/diff.ts')).diffCommand,
  },
  show: {
    summary: 'show what a key was made of and what came of it',
    load: async () => (await import('../client/commands/show.ts')).showCommand,
  },
  stats: {
    summary: 'tell the hit rate and the time saved, by step and by day',
    load: async () => (await import('../client/commands/stats.ts')).statsCommand,
  },
  clean: {
    summary: 'remove what steps made, or what Assay remembers',
    load: async () => (await import('../client/commands/clean.ts')).cleanCommand,
  },
  save: {
    summary: 'keep files and folders under a key, for `assay restore`',
    load: async () => (await import('../client/commands/save.ts')).saveCommand,
  },
  restore: {
    summary: 'put files and folders back that `assay save` has kept, from the nearest key',
    load: async () => (await import('../client/commands/restore.ts')).restoreCommand,
  },
  push: {
    summary: 'send to the remote what earlier runs could not share',
    load: async () => (await import('../client/commands/push.ts')).pushCommand,
  },
  checkpoint: {
    summary: 'from inside a step: seal its checkpoint folders now',
    load: async () => (await import('../client/commands/checkpoint.ts')).checkpointCommand,
  },
  'bazel-worker': {
    summary: 'wrap a tool as a persistent worker of Bazel, and run it only where its result is not known',
    load: async () => (await import('../client/commands/bazel-worker.ts')).bazelWorkerCommand,
  },
  gocacheprog: {
    summary: 'keep the go command’s cache: the helper process for GOCACHEPROG',
    load: async () => (await import('../client/commands/gocacheprog.ts')).gocacheprogCommand,
  },
  gc: {
    summary: 'make a store smaller: the least recently used goes first',
    load: async () => (await import('../client/commands/gc.ts')).gcCommand,
  },
  verify: {
    summary: 'look through a whole store for damage, and mend it',
    load: async () => (await import('../client/commands/verify.ts')).verifyCommand,
  },
  doctor: {
    summary: 'say what is wrong with this set-up, and how to mend it',
    load: async () => (await import('../client/commands/doctor.ts')).doctorCommand,
  },
  serve: {
    summary: 'share a store over HTTP and gRPC',
    load: async () => (await import('../server/commands/serve.ts')).serveCommand,
  },
};

/** For a command that could not even be loaded. */
const NOTHING_RAN = 125;

export async function main(args: readonly string[]): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined || name === '--help' || name === '-h' || name === 'help')
    return answer(overview(columns()));
  if (name === '--version' || name === '-V' || name === 'version') return answer(`assay ${VERSION}\n`);
  const entry = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!entry) return refuse(unknownCommand(name), 2, false);
  let failureCode = NOTHING_RAN;
  try {
    const command = await entry.load();
    failureCode = command.failureCode;
    return asksForHelp(rest) ? answer(renderHelp(command.help, columns())) : await command.main(rest);
  } catch (error) {
    return refuse(error, failureCode, ownFlags(rest).includes('--json'));
  }
}

function asksForHelp(args: readonly string[]): boolean {
  const own = ownFlags(args);
  return own.includes('--help') || own.includes('-h');
}

/** What stands after `--` belongs to the wrapped command. */
function ownFlags(args: readonly string[]): readonly string[] {
  const end = args.indexOf('--');
  return end === -1 ? args : args.slice(0, end);
}

/** Of the terminal that is spoken to; what goes elsewhere is not for a window. */
function columns(): number {
  return (new SyncStream(1).isTTY && process.stdout.columns) || Number.POSITIVE_INFINITY;
}

function answer(text: string): number {
  new SyncStream(1).write(text);
  return 0;
}

function refuse(error: unknown, failureCode: number, json: boolean): number {
  const { code, detail, entry } = named(error);
  const { hint, exitCode = failureCode } = entry;
  new SyncStream(2).write(`assay: ${code}: ${detail}\n       ${hint}\n`);
  if (json)
    new SyncStream(2).write(`${JSON.stringify({ error: { code, detail, wayOut: hint }, exitCode })}\n`);
  return exitCode;
}

function named(error: unknown): AssayError {
  if (error instanceof AssayError) return error;
  if (!isSystemError(error, 'MODULE_NOT_FOUND')) return new AssayError('ASSAY_INTERNAL', messageOf(error));
  const [what = ''] = messageOf(error).split('\n'); // who asked for it follows
  return new AssayError('ASSAY_INCOMPLETE', what);
}

function unknownCommand(name: string): AssayError {
  const hint = suggestion(name, Object.keys(COMMANDS), '');
  return new AssayError('ASSAY_USAGE', `there is no command ${JSON.stringify(name)}${hint}`);
}

function overview(width: number): string {
  const rows = Object.entries(COMMANDS).map(([name, { summary }]) => [name, summary] as const);
  return [
    'assay: a build cache that proves its hits',
    '',
    'Usage: assay COMMAND [FLAGS] …',
    '',
    formatColumns(rows, width),
    '',
    wrapText('assay COMMAND --help tells all about a command; assay --version tells the version.', width),
    '',
  ].join('\n');
}

// No top-level await: the bundle for Node is CommonJS, which has none. What was said has been written (SyncStream), so there is
// nothing to wait for, and a connection that somebody left open does not keep the process.
main(process.argv.slice(2)).then((code) => process.exit(code));
