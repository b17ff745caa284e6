// The entry point of `assay`: finds the command, answers --help and --version, and prints errors.
// Each command is imported only when it runs, so that a hit does not load the server.
import { takeToken } from '../client/remote/token.ts';
import { SyncStream } from '../client/terminal/sync-stream.ts';
import { type CommandEntry, type CommandTable, renderHelp, suggestion } from '../core/cli/command.ts';
import { formatColumns, wrapText } from '../core/cli/layout.ts';
import { AssayError, isSystemError, messageOf } from '../core/errors.ts';
import { visibleLines } from '../core/text/visible.ts';
import { VERSION } from '../core/version.ts';
import { stepHook } from './step-hook.ts';
import type { Ports } from './wings.ts';

/** The commands of the trunk. Those of the wings are in wings.ts. */
const TRUNK: CommandTable = {
  run: {
    summary: 'run steps or a command, or restore their outputs from the cache',
    load: async () => (await import('../client/commands/run.ts')).runCommand(stepHook),
  },
  audit: {
    summary: 'run a command under a tracer and report what it did beyond its declaration',
    load: async () => (await import('../client/commands/audit.ts')).auditCommand(stepHook),
  },
  explain: {
    summary: 'explain why the last run here, of a step or with a key, was a hit or a miss',
    load: async () => (await import('../client/commands/explain.ts')).explainCommand,
  },
  diff: {
    summary: 'show what differs between two keys',
    load: async () => (await import('../client/commands/diff.ts')).diffCommand,
  },
  show: {
    summary: 'show the declaration and the result behind a key',
    load: async () => (await import('../client/commands/show.ts')).showCommand,
  },
  stats: {
    summary: 'show the hit rate and the time saved, by step and by day',
    load: async () => (await import('../client/commands/stats.ts')).statsCommand,
  },
  report: {
    summary: 'print a run as Markdown, for a comment on a pull request',
    load: async () => (await import('../client/commands/report/report.ts')).reportCommand,
  },
  clean: {
    summary: 'delete the outputs of steps, or Assay’s local data',
    load: async () => (await import('../client/commands/clean.ts')).cleanCommand,
  },
  push: {
    summary: 'upload results that earlier runs could not share',
    load: async () => (await import('../client/commands/push.ts')).pushCommand,
  },
  gc: {
    summary: 'shrink a store: evict the least recently used content',
    load: async () => (await import('../client/commands/gc.ts')).gcCommand,
  },
  verify: {
    summary: 'check a whole store for damage, and repair it',
    load: async () => (await import('../client/commands/verify.ts')).verifyCommand,
  },
  serve: {
    summary: 'share a store over HTTP and gRPC',
    isServers: true,
    load: async () => (await import('../server/commands/serve.ts')).serveCommand(allWings),
  },
  token: {
    summary: 'create, list and revoke the tokens of a server',
    isServers: true,
    load: async () => (await import('../server/commands/token.ts')).tokenCommand,
  },
  completion: {
    summary: 'print a script that completes commands and flags in bash, zsh or fish',
    load: async () => (await import('../core/cli/completion.ts')).completionCommand(await allCommands()),
  },
};

/** What commands of wings get of other wings. */
const PORTS: Ports = { stepHook };

/** As wide as "assay: ". */
const INDENT = ' '.repeat(7);

/** The exit codes when there is no such command, and when a command could not be loaded. */
const NO_COMMAND = 2;
const NOTHING_RAN = 125;

export async function main(given: readonly string[]): Promise<number> {
  removeStartOptions();
  const args = withFlagInName(given);
  const [name] = args;
  let [failureCode, rest] = [NO_COMMAND, args];
  try {
    const isHelpAlone = name === 'help' && args.length === 1;
    if (name === undefined || name === '--help' || name === '-h' || isHelpAlone)
      return print(overview(await allCommands(), new SyncStream(1).columns));
    if (name === '--version' || name === '-V' || name === 'version') return print(`assay ${VERSION}\n`);
    const called = commandIn(TRUNK, args) ?? (await laterCommand(args));
    if (typeof called === 'string') return print(called);
    const { entry } = called;
    rest = called.rest;
    failureCode = NOTHING_RAN;
    if (!entry.isServers) takeToken();
    const command = await entry.load();
    failureCode = command.failureCode;
    return asksForHelp(rest)
      ? print(renderHelp(command.help, new SyncStream(1).columns))
      : await command.main(rest);
  } catch (error) {
    return reportError(error, failureCode, ownFlags(rest).includes('--json'));
  }
}

/** The list of wings is loaded only for what the trunk lacks. */
async function allWings() {
  return Object.values((await import('./wings.ts')).WINGS);
}

/** All commands of this build. */
async function allCommands(): Promise<CommandTable> {
  const ofWings = (await allWings()).flatMap(({ commands }) => Object.entries(commands));
  const bound = ofWings.map(([name, entry]) => [name, { ...entry, load: () => entry.load(PORTS) }] as const);
  return { ...TRUNK, ...Object.fromEntries(bound) };
}

interface Called {
  readonly entry: CommandEntry;
  /** The arguments after the command's name. */
  readonly rest: readonly string[];
}

/** A command that the trunk lacks; or the help of all commands that begin with this word. */
async function laterCommand(args: readonly string[]): Promise<Called | string> {
  const commands = await allCommands();
  const called = helpOf(commands, args) ?? commandIn(commands, args);
  if (called) return called;
  const { WING_OF } = await import('./wings.ts');
  for (const [name] of namesIn(args))
    if (Object.hasOwn(WING_OF, name))
      throw new AssayError('ASSAY_NOT_IN_BUILD', `${name} is a command of wings/${WING_OF[name]}`);
  const [first = ''] = args;
  const group = Object.entries(commands).filter(([name]) => name.startsWith(`${first} `));
  if (group.length > 0 && asksForHelp(args))
    return overview(Object.fromEntries(group), new SyncStream(1).columns);
  if (group.length > 0)
    throw new AssayError('ASSAY_USAGE', `say ${group.map(([name]) => `\`assay ${name}\``).join(' or ')}`);
  const firsts = Object.keys(commands).map((name) => name.replace(/ .*/, ''));
  const hint = suggestion(first, firsts, '');
  throw new AssayError('ASSAY_USAGE', `there is no command ${JSON.stringify(first)}${hint}`);
}

/** `assay help run` is `assay run --help`. Other topics are pages. */
function helpOf(commands: CommandTable, [first, ...words]: readonly string[]): Called | undefined {
  const asked = first === 'help' ? commandIn(commands, words) : undefined;
  return asked && { entry: asked.entry, rest: ['--help'] };
}

/** The words come from the command line, so they may also be the name of a method of every object. */
function commandIn(commands: CommandTable, args: readonly string[]): Called | undefined {
  for (const [name, words] of namesIn(args)) {
    const entry = Object.hasOwn(commands, name) ? commands[name] : undefined;
    if (entry) return { entry, rest: args.slice(words) };
  }
  return undefined;
}

/**
 * What the command may be named, and of how many words that is: `store backup`, or `run`. The longer name wins:
 * `checkpoint list` is not `checkpoint` with an argument.
 */
function namesIn([first = '', second = '']: readonly string[]): (readonly [string, number])[] {
  return [
    [`${first} ${second}`, 2],
    [first, 1],
  ];
}

/** `assay show --bundle FILE` is a command of a wing, whose name has the flag. */
function withFlagInName(args: readonly string[]): readonly string[] {
  const [name, ...rest] = args;
  const isBundles = name === 'show' && ownFlags(rest).some((flag) => /^--bundle(?:=|$)/.test(flag));
  return isBundles ? ['show --bundle', ...rest] : args;
}

/** The options of the engine that bin/start/main.c set are for this process alone. */
function removeStartOptions(): void {
  if (process.env.ASSAY_START_JIT === undefined) return;
  delete process.env.ASSAY_START_JIT;
  delete process.env.BUN_JSC_useFTLJIT;
}

function asksForHelp(args: readonly string[]): boolean {
  const own = ownFlags(args);
  return own.includes('--help') || own.includes('-h');
}

/** The flags for Assay: those after `--` belong to the wrapped command. */
function ownFlags(args: readonly string[]): readonly string[] {
  const end = args.indexOf('--');
  return end === -1 ? args : args.slice(0, end);
}

/** Wraps a message for the terminal. If standard error is not one, each message stays on one line. */
function wrapMessage(text: string): string {
  return wrapText(text, new SyncStream(2).columns - INDENT.length).replaceAll('\n', `\n${INDENT}`);
}

function print(text: string): number {
  new SyncStream(1).write(text);
  return 0;
}

function reportError(error: unknown, failureCode: number, json: boolean): number {
  const { code, detail, entry } = asAssayError(error);
  const { hint, exitCode = failureCode } = entry;
  new SyncStream(2).write(
    `assay: ${wrapMessage(`${code}: ${visibleLines(detail)}`)}\n${INDENT}${wrapMessage(hint)}\n`,
  );
  if (json)
    new SyncStream(2).write(`${JSON.stringify({ error: { code, detail, wayOut: hint }, exitCode })}\n`);
  return exitCode;
}

/** What a machine can answer to a correct call. Any other code that arrives here is a bug of Assay. */
const REFUSALS = [
  ...['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG'],
  ...['ENOSPC', 'EDQUOT', 'EIO', 'EMFILE', 'ENFILE', 'ENOMEM'],
];

function asAssayError(error: unknown): AssayError {
  if (error instanceof AssayError) return error;
  if (isSystemError(error, ...REFUSALS)) return new AssayError('ASSAY_SYSTEM', messageOf(error));
  if (!isSystemError(error, 'MODULE_NOT_FOUND')) return new AssayError('ASSAY_INTERNAL', messageOf(error));
  const [what = ''] = messageOf(error).split('\n'); // the next lines list the importing modules
  return new AssayError('ASSAY_INCOMPLETE', what);
}

function overview(commands: CommandTable, width: number): string {
  const rows = Object.entries(commands).map(([name, { summary }]) => [name, summary] as const);
  return [
    'assay: a build cache that proves its hits',
    '',
    'Usage: assay COMMAND [FLAGS] …',
    '',
    formatColumns(rows, width),
    '',
    wrapText(
      'assay COMMAND --help describes a command; assay help --help lists the pages that assay help prints; assay --version prints the version.',
      width,
    ),
    '',
  ].join('\n');
}

// No top-level await: the bundle for Node is CommonJS. SyncStream has written all output, so exit at once:
// an open connection must not keep the process alive.
main(process.argv.slice(2)).then((code) => process.exit(code));
