// The flags that declare an action, from the table of its fields, and the request that they make.
import {
  type Flag,
  type FlagTable,
  type ParsedFlags,
  parseFlags,
  parseNumber,
  usage,
} from '../../core/cli/command.ts';
import { type ActionDeclaration, requestFor } from '../action/declaration.ts';
import { checkText } from '../action/environment.ts';
import { ACTION_FIELDS, type ActionField } from '../action/fields.ts';
import {
  HERMETIC,
  type Hermetic,
  KEEP_UNPROVEN,
  type KeepUnproven,
  REQUEST_DEFAULTS,
  type RunRequest,
} from '../action/request.ts';

/** The flags of these fields of an action. */
export function flagsOf(names: readonly (keyof typeof ACTION_FIELDS)[]): FlagTable {
  return Object.fromEntries(
    names.map((name): [string, Flag] => {
      const { kind, flag = name, value, text }: ActionField = ACTION_FIELDS[name];
      if (kind === 'flag') return [flag, { type: 'boolean', text }];
      const multiple = kind === 'texts' || kind === 'variables';
      return [flag, { type: 'string', multiple, ...(value !== undefined && { value }), text }];
    }),
  );
}

/** The flags that every command with an action takes before `-- COMMAND`. */
export const ACTION_FLAGS = {
  ...flagsOf(['inputs', 'optionalInputs', 'includeIgnored', 'outputs']),
  ...flagsOf(['env', 'tools', 'state', 'cwd']),
};

/** Those that only `assay run` takes. */
export const RUN_FLAGS: FlagTable = {
  ...flagsOf(['cacheFailures', 'hermetic', 'sandbox', 'keepUnproven']),
  inputs: { type: 'string', value: 'declared|observed', text: `observed: ${ACTION_FIELDS.observed.text}` },
  checkpoint: {
    type: 'string',
    multiple: true,
    value: 'DIR',
    text: `${ACTION_FIELDS.checkpoint.text} (see \`assay checkpoint --help\`)`,
  },
  'checkpoint-interval': { type: 'string', value: 'SECONDS', text: 'how often to save (default: 600)' },
  'checkpoint-keep': { type: 'string', value: 'N', text: 'how many checkpoints to keep (default: 2)' },
};

export interface DeclaredAction {
  readonly flags: ParsedFlags;
  readonly request: RunRequest;
}

/** Parses FLAGS -- COMMAND. `table`: ACTION_FLAGS and the command's own flags. */
export function parseAction(name: string, args: readonly string[], table: FlagTable): DeclaredAction {
  const { own, command } = splitCommand(name, args);
  const flags = parseFlags(own, table);
  const [stray] = flags.positionals;
  if (stray !== undefined) throw usage(`${JSON.stringify(stray)} is no flag; put the command after \`--\``);
  return { flags, request: requestFrom(flags, command) };
}

function splitCommand(
  name: string,
  args: readonly string[],
): { own: string[]; command: [string, ...string[]] } {
  const end = args.indexOf('--');
  const [program, ...rest] = end === -1 ? [] : args.slice(end + 1);
  for (const word of args) checkText('an argument', word);
  if (!program) throw usage(`put the command after \`--\`: assay ${name} [FLAGS] -- COMMAND`);
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
    hermetic: hermeticIn(flags),
    keepUnproven: keepUnprovenIn(flags),
    observed,
    sandbox: flags.given('sandbox'),
    checkpoint: checkpointIn(flags),
    state: flags.all('state'),
  });
}

export function hermeticIn(flags: ParsedFlags): Hermetic {
  return oneOf('--hermetic', flags.text('hermetic') ?? REQUEST_DEFAULTS.hermetic, HERMETIC);
}

export function keepUnprovenIn(flags: ParsedFlags): KeepUnproven | undefined {
  const given = flags.text('keep-unproven');
  return given === undefined ? undefined : oneOf('--keep-unproven', given, KEEP_UNPROVEN);
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
