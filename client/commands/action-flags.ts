// The flags that declare an action, shared by every command that takes one, and the request that they make.
import { type FlagTable, type ParsedFlags, parseFlags, parseNumber, usage } from '../../core/cli/command.ts';
import { type ActionDeclaration, requestFor } from '../action/declaration.ts';
import { checkText } from '../action/environment.ts';
import { HERMETIC, REQUEST_DEFAULTS, type RunRequest } from '../action/request.ts';

export const ACTION_FLAGS = {
  input: {
    type: 'string',
    multiple: true,
    value: 'GLOB',
    text: 'a file, folder or glob that the command reads; "!GLOB" takes away',
  },
  'optional-input': {
    type: 'string',
    multiple: true,
    value: 'GLOB',
    text: 'the same, but it may match nothing',
  },
  'include-ignored': {
    type: 'boolean',
    text: 'take files that .gitignore hides, too (also those that git tracks all the same)',
  },
  output: {
    type: 'string',
    multiple: true,
    value: 'PATH',
    text: 'a file or folder that the command makes; it belongs to the command,\nwhat else lies there goes',
  },
  env: {
    type: 'string',
    multiple: true,
    value: 'NAME|NAME=VALUE',
    text: 'a variable that the command sees, or with PREFIX_* all that begin so; all others are hidden from it',
  },
  tool: {
    type: 'string',
    multiple: true,
    value: 'NAME',
    text: 'a program that the command uses, found on your PATH; its content is in the key, and the command\nfinds it by its name (both hold for the command’s own program anyway)',
  },
  state: {
    type: 'string',
    multiple: true,
    value: 'PATH',
    text: 'a file or folder that makes the command faster the next time (.tsbuildinfo, .eslintcache): carried over\nfrom the nearest earlier commit; never in the key. What is made with it is not kept in a\ncache; with --hermetic=strict it is not used. It belongs to the command: what else lies there goes',
  },
  cwd: { type: 'string', value: 'DIR', text: 'the folder to run in, below this one (default: this one)' },
} satisfies FlagTable;

export interface DeclaredAction {
  readonly flags: ParsedFlags;
  readonly request: RunRequest;
}

/** Flags, `--`, command. `table` holds ACTION_FLAGS and the command's own. */
export function parseAction(name: string, args: readonly string[], table: FlagTable): DeclaredAction {
  const { own, command } = splitCommand(name, args);
  const flags = parseFlags(own, table);
  const [stray] = flags.positionals;
  if (stray !== undefined)
    throw usage(`${JSON.stringify(stray)} is no flag; the command stands after \`--\``);
  return { flags, request: requestFrom(flags, command) };
}

function splitCommand(
  name: string,
  args: readonly string[],
): { own: string[]; command: [string, ...string[]] } {
  const end = args.indexOf('--');
  const [program, ...rest] = end === -1 ? [] : args.slice(end + 1);
  for (const word of args) checkText('an argument', word);
  if (!program) throw usage(`the command to run stands after \`--\`: assay ${name} [FLAGS] -- COMMAND`);
  return { own: args.slice(0, end), command: [program, ...rest] };
}

function requestFrom(flags: ParsedFlags, command: readonly string[]): RunRequest {
  const observed =
    oneOf('--inputs', flags.text('inputs') ?? 'declared', ['declared', 'observed']) === 'observed';
  return requestFor({
    command,
    cwd: flags.text('cwd'),
    inputs: flags.all('input'),
    optionalInputs: flags.all('optional-input'),
    includeIgnored: flags.given('include-ignored'),
    outputs: flags.all('output'),
    env: flags.all('env'),
    tools: flags.all('tool'),
    cacheFailures: flags.given('cache-failures'),
    hermetic: oneOf('--hermetic', flags.text('hermetic') ?? REQUEST_DEFAULTS.hermetic, HERMETIC),
    acceptMarked: flags.given('accept-marked'),
    observed,
    sandbox: flags.given('sandbox'),
    checkpoint: checkpointIn(flags),
    state: flags.all('state'),
  });
}

function checkpointIn(flags: ParsedFlags): ActionDeclaration['checkpoint'] {
  const folders = flags.all('checkpoint');
  const [interval, keep] = [flags.text('checkpoint-interval'), flags.text('checkpoint-keep')];
  return {
    folders,
    ...(interval && { everyMs: 1000 * parseNumber('--checkpoint-interval', interval, 1, 86_400) }),
    ...(keep && { keep: parseNumber('--checkpoint-keep', keep, 1, 100) }),
  };
}

function oneOf<T extends string>(flag: string, text: string, known: readonly T[]): T {
  const found = known.find((word) => word === text);
  if (found === undefined) throw usage(`${flag} takes ${known.join(', ')}, not ${JSON.stringify(text)}`);
  return found;
}
