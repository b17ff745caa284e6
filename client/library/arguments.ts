// Checks what a program passes to the library. Types do not exist at run time, and a misspelt field must not
// pass: an action with `input` instead of `inputs` would have no inputs, and would hit whatever they contain.
import { suggestion, usage } from '../../core/cli/command.ts';
import type { ActionDeclaration } from '../action/declaration.ts';
import { ACTION_FIELDS, type ActionField, type ActionFieldKind } from '../action/fields.ts';
import type { LibraryOptions } from './library.ts';

interface Kind {
  /** "takes …" */
  readonly takes: string;
  holds(value: unknown): boolean;
}

type Fields<T> = Readonly<Record<keyof T, Kind>>;

const isText = (value: unknown): value is string => typeof value === 'string';
const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

const TEXT: Kind = { takes: 'a text', holds: isText };
const TEXTS: Kind = {
  takes: 'a list of texts',
  holds: (value) => Array.isArray(value) && [...value].every(isText),
};
const FLAG: Kind = { takes: 'true or false', holds: (value) => typeof value === 'boolean' };
const COUNT: Kind = {
  takes: 'a whole number above 0',
  holds: (value) => Number.isSafeInteger(value) && Number(value) > 0,
};
const OBJECT: Kind = { takes: 'an object', holds: (value) => isObject(value) && !Array.isArray(value) };
const FUNCTION: Kind = { takes: 'a function', holds: (value) => typeof value === 'function' };
const WRITABLE: Kind = {
  takes: 'an object with a write method',
  holds: (value) => isObject(value) && 'write' in value && typeof value.write === 'function',
};
const SIGNAL: Kind = { takes: 'an AbortSignal', holds: (value) => value instanceof AbortSignal };

const KINDS: Readonly<Record<Exclude<ActionFieldKind, 'word' | 'flag-or-word'>, Kind>> = {
  text: TEXT,
  texts: TEXTS,
  variables: TEXTS,
  flag: FLAG,
  object: OBJECT,
};

const ACTION: Readonly<Record<string, Kind>> = Object.fromEntries(
  Object.entries(ACTION_FIELDS).map(([name, field]) => [name, kindOf(field)]),
);

function kindOf({ kind, values = [] }: ActionField): Kind {
  if (kind !== 'word' && kind !== 'flag-or-word') return KINDS[kind];
  return { takes: `one of ${values.join(', ')}`, holds: (value) => values.includes(value) };
}

const CHECKPOINT: Fields<NonNullable<ActionDeclaration['checkpoint']>> = {
  folders: TEXTS,
  everyMs: COUNT,
  keep: COUNT,
};

const OPTIONS: Fields<LibraryOptions> = {
  store: TEXT,
  remote: TEXT,
  token: TEXT,
  environment: OBJECT,
  stdout: WRITABLE,
  stderr: WRITABLE,
  report: FUNCTION,
  force: FLAG,
  signal: SIGNAL,
};

export function checkAction(action: unknown): void {
  const fields = checkFields('action', action, ACTION, ['command']);
  if (fields.checkpoint !== undefined) checkFields('checkpoint', fields.checkpoint, CHECKPOINT, ['folders']);
}

export function checkOptions(options: unknown): void {
  checkFields('options', options, OPTIONS, []);
}

function checkFields(
  what: string,
  value: unknown,
  known: Readonly<Record<string, Kind>>,
  needed: readonly string[],
): Readonly<Record<string, unknown>> {
  if (!OBJECT.holds(value)) throw usage(`${what} must be an object, not ${shown(value)}`);
  const fields: Readonly<Record<string, unknown>> = { ...Object(value) };
  const kinds = new Map<string, Kind>(Object.entries(known));
  for (const [name, held] of Object.entries(fields)) {
    const kind = kinds.get(name);
    if (!kind)
      throw usage(`${what} has no field ${JSON.stringify(name)}${suggestion(name, [...kinds.keys()], '')}`);
    if (held !== undefined && !kind.holds(held))
      throw usage(`${name} takes ${kind.takes}, not ${shown(held)}`);
  }
  const missing = needed.find((name) => fields[name] === undefined);
  if (missing !== undefined) throw usage(`${what} needs the field ${missing}`);
  return fields;
}

const LONGEST_SHOWN = 60;

function shown(value: unknown): string {
  const text = typeof value === 'function' ? 'a function' : asJson(value);
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
}

/** Values that are no JSON (a cycle, a bigint) are shown by their type. */
function asJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return `a ${typeof value}`;
  }
}
