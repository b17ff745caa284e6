// The definition of a command of `assay`, and the parser of its flags.
// One table of flags gives the parser, the help and the suggestions.
import { AssayError } from '../errors.ts';
import { formatColumns, wrapText } from './layout.ts';

export interface Flag {
  readonly type: 'string' | 'boolean';
  /** One letter: `-v` for `--verbose`. */
  readonly short?: string;
  /** May be given several times. */
  readonly multiple?: boolean;
  /** May be given without a value. A value must follow a "=". */
  readonly optionalValue?: boolean;
  /** The placeholder for the value in the help: GLOB, DIR, URL … */
  readonly value?: string;
  readonly text: string;
}

export type FlagTable = Readonly<Record<string, Flag>>;

interface Help {
  readonly usage: string;
  readonly text: string;
  readonly flags: FlagTable;
  readonly examples: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly exitCodes?: Readonly<Record<string, string>>;
}

export interface CommandModule {
  readonly help: Help;
  /**
   * The exit code of Assay's own failures: 2, or 125 for a command whose exit code is the wrapped command's.
   */
  readonly failureCode: number;
  main(args: readonly string[]): Promise<number>;
}

/** A command as a list of commands has it. */
export interface CommandEntry {
  readonly summary: string;
  /** A command of a server. It runs no command of a user, and takes its secrets from its variables. */
  readonly isServers?: true;
  /** Imports the command's module. Called only when the command runs, so that a hit loads no other. */
  load(): Promise<CommandModule>;
}

/** Commands by name, in the order of the help. A name has one word, or two: `store migrate`. */
export type CommandTable = Readonly<Record<string, CommandEntry>>;

/** The flags of these names. A name that the table lacks does not compile. */
export interface ParsedFlags<Name extends string = string> {
  text(name: Name): string | undefined;
  all(name: Name): readonly string[];
  given(name: Name): boolean;
  /** The arguments that are not flags, and all arguments after `--`. */
  readonly positionals: readonly string[];
}

/**
 * Parses flags, and refuses unknown ones. bin/assay.ts answers `--help` before it calls this.
 * node:util has a parser, but loading it takes 2 ms of each start, and it gives no suggestions.
 */
export function parseFlags<Table extends FlagTable>(
  args: readonly string[],
  flags: Table,
): ParsedFlags<keyof Table & string> {
  const values = new Map<string, string[]>();
  const positionals: string[] = [];
  const rest = [...args];
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    if (arg === '--') positionals.push(...rest.splice(0));
    else if (arg === '-' || !arg.startsWith('-')) positionals.push(arg);
    else keepFlag(arg, rest, flags, values);
  }
  return {
    text: (name) => values.get(name)?.at(-1),
    all: (name) => values.get(name) ?? [],
    given: (name) => values.has(name),
    positionals,
  };
}

/** Parses `--flag`, `--flag=value` or `--flag value`, and takes that value from `rest`. */
function keepFlag(arg: string, rest: string[], flags: FlagTable, values: Map<string, string[]>): void {
  const [rawName = '', ...afterEquals] = arg.split('=');
  const name = longName(rawName, flags);
  const flag = Object.hasOwn(flags, name) ? flags[name] : undefined;
  if (!flag) throw usage(`unknown flag ${rawName}${suggestion(name, Object.keys(flags))}`);
  const earlier = values.get(name) ?? [];
  if (earlier.length > 0 && !flag.multiple) throw usage(`${rawName} is given twice`);
  const inline = afterEquals.length > 0 ? afterEquals.join('=') : undefined;
  values.set(name, [...earlier, takeValue(flag, rawName, inline, rest)]);
}

function longName(rawName: string, flags: FlagTable): string {
  const isShort = ([, { short }]: readonly [string, Flag]) => short !== undefined && rawName === `-${short}`;
  return Object.entries(flags).find(isShort)?.[0] ?? rawName.replace(/^--/, '');
}

function takeValue(flag: Flag, rawName: string, inline: string | undefined, rest: string[]): string {
  if (flag.type === 'boolean') {
    if (inline !== undefined) throw usage(`${rawName} takes no value`);
    return '';
  }
  if (flag.optionalValue && inline === undefined) return '';
  const value = inline ?? rest.shift();
  if (value === undefined || value === '')
    throw usage(`${rawName} needs a value: ${rawName} ${flag.value ?? 'VALUE'}`);
  if (inline === undefined && value.startsWith('-') && value !== '-')
    throw usage(`${rawName} is followed by ${value}; if that is its value, write ${rawName}=${value}`);
  return value;
}

export function usage(detail: string): AssayError {
  return new AssayError('ASSAY_USAGE', detail);
}

/** A whole number from `least` to `most`. Otherwise throws an error that names the flag. */
export function parseNumber(flag: string, text: string, least: number, most: number): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || number < least || number > most) {
    throw usage(`${flag} takes a whole number from ${least} to ${most}, not ${JSON.stringify(text)}`);
  }
  return number;
}

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** The milliseconds of `90s`, `30m`, `3h` or `7d`. */
export function parseDuration(flag: string, text: string): number {
  const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?)([smhd])$/.exec(text) ?? [];
  const milliseconds = Number(number) * (SECONDS[unit] ?? Number.NaN) * 1000;
  if (number !== '' && milliseconds > 0 && Number.isSafeInteger(Math.round(milliseconds))) {
    return Math.round(milliseconds);
  }
  throw usage(`${flag} takes a time such as 90s, 30m, 3h or 7d, not ${JSON.stringify(text)}`);
}

/** "; did you mean --input?" if a known name is similar enough, else "". */
export function suggestion(name: string, known: readonly string[], prefix = '--'): string {
  const ranked = known
    .map((candidate) => ({ candidate, distance: editDistance(name, candidate) }))
    .sort((a, b) => a.distance - b.distance);
  const best = ranked[0];
  const isNear = best !== undefined && best.distance <= Math.max(1, Math.floor(name.length / 3));
  return isNear ? `; did you mean ${prefix}${best.candidate}?` : '';
}

/** The optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbours. */
function editDistance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, index) => index)];
  const at = (i: number, j: number) => rows[i]?.[j] ?? Number.POSITIVE_INFINITY;
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= b.length; j++) {
      const substitute = at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const changedPlaces = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swap = changedPlaces ? at(i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY;
      row.push(Math.min(substitute, swap, at(i - 1, j) + 1, at(i, j - 1) + 1));
    }
  }
  return at(a.length, b.length);
}

/** Examples are not wrapped, so that they can be copied. */
export function renderHelp(help: Help, columns = Number.POSITIVE_INFINITY): string {
  const listing = (title: string, rows: readonly (readonly [string, string])[]) =>
    `${title}:\n${formatColumns(rows, columns)}`;
  const text = wrapText(help.text, columns);
  const sections = [`Usage: ${help.usage}`, text, listing('Flags', flagLines(help.flags))];
  if (help.environment) sections.push(listing('Environment', Object.entries(help.environment)));
  if (help.exitCodes) sections.push(listing('Exit codes', Object.entries(help.exitCodes)));
  if (help.examples.length > 0)
    sections.push(`Examples:\n${help.examples.map((line) => `  ${line}`).join('\n')}`);
  return `${sections.filter((section) => section !== '').join('\n\n')}\n`;
}

function flagLines(flags: FlagTable): [string, string][] {
  const lines = Object.entries(flags).map(([name, flag]): [string, string] => {
    const short = flag.short === undefined ? '' : `-${flag.short}, `;
    return [`${short}--${name}${valueText(flag)}${flag.multiple ? ' …' : ''}`, flag.text];
  });
  return [...lines, ['--help', 'this text']];
}

function valueText({ type, optionalValue, value = 'VALUE' }: Flag): string {
  if (type === 'boolean') return '';
  return optionalValue ? `[=${value}]` : ` ${value}`;
}
