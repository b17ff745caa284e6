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
import {
  ACTION_FIELDS,
  type ActionField,
  type ActionOptions,
  OPTION_NAMES,
  OPTIONS,
  type Option,
  readOptions,
} from '../action/fields.ts';
import type { RunRequest } from '../action/request.ts';

/** The flags of these fields of an action. */
export function flagsOf(names: readonly (keyof typeof ACTION_FIELDS)[]): FlagTable {
  return Object.fromEntries(names.map((name) => flagOf(name, ACTION_FIELDS[name])));
}

function flagOf(name: string, { kind, flag = name, words, value, text }: ActionField): [string, Flag] {
  if (words === undefined || value !== undefined) {
    const multiple = kind === 'texts' || kind === 'variables';
    return [flag, { type: 'string', multiple, ...(value !== undefined && { value }), text }];
  }
  const known = Object.keys(words);
  const more = known.filter((word) => word !== '');
  if (known.length > more.length) {
    if (more.length === 0) return [flag, { type: 'boolean', text }];
    return [flag, { type: 'string', optionalValue: true, value: more.join('|'), text }];
  }
  const meaning = kind === 'flag' ? `${known.at(-1)}: ${text}` : text;
  return [flag, { type: 'string', value: known.join('|'), text: meaning }];
}

/** The flags that every command with an action takes before `-- COMMAND`. */
export const ACTION_FLAGS = {
  ...flagsOf(['inputs', 'optionalInputs', 'includeIgnored', 'outputs']),
  ...flagsOf(['env', 'tools', 'state', 'cwd']),
};

/** Those that only `assay run` takes. */
export const RUN_FLAGS: FlagTable = {
  ...flagsOf(OPTION_NAMES.filter((name) => name !== 'includeIgnored')),
  checkpoint: {
    type: 'string',
    multiple: true,
    value: 'DIR',
    text: `${ACTION_FIELDS.checkpoint.text} (see \`assay checkpoint --help\`)`,
  },
  'checkpoint-interval': { type: 'string', value: 'SECONDS', text: 'how often to save (default: 600)' },
  'checkpoint-keep': { type: 'string', value: 'N', text: 'how many checkpoints to keep (default: 2)' },
};

interface DeclaredAction {
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
  return requestFor({
    ...optionsIn(flags),
    command,
    cwd: flags.text('cwd'),
    inputs: flags.all('input'),
    optionalInputs: flags.all('optional-input'),
    outputs: flags.all('output'),
    env: flags.all('env'),
    tools: flags.all('tool'),
    checkpoint: checkpointIn(flags),
    state: flags.all('state'),
  });
}

/** Those that are given. */
export function optionsIn(flags: ParsedFlags): Partial<ActionOptions> {
  return readOptions((name) => optionIn(flags, OPTIONS[name]));
}

function optionIn<Value>(flags: ParsedFlags, { flag, words }: Option<Value>): Value | undefined {
  const given = flags.text(flag);
  if (given === undefined || Object.hasOwn(words, given)) return given === undefined ? given : words[given];
  throw usage(`--${flag} takes ${Object.keys(words).join(', ')}, not ${JSON.stringify(given)}`);
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
