// The differences of a miss as a person reads them: where the earlier action was seen, then groups of lines with both
// states.
// Values of variables are shown where this machine has both actions; else digests stand for them.
import type { FactGroup } from '../../core/metadata/run-report.ts';
import type { KeyDifference } from '../../store/actions/difference.ts';
import { differenceText } from '../../store/actions/miss-text.ts';
import { looksSecretVariable } from '../action/environment.ts';
import type { SeenIn } from './history.ts';

const HEADINGS: Readonly<Record<FactGroup, string>> = {
  files: 'files that the command read:',
  absent: 'paths that it did not find:',
  listings: 'folders that it listed:',
  libraries: 'libraries of the loader:',
  machine: 'properties of the machine:',
};

/** Facts come last, under the heading of their group. At most `most` differences are shown, and the rest counted. */
function differenceLines(
  all: readonly KeyDifference[],
  most: number,
  line: (difference: KeyDifference) => string = describe,
): string[] {
  const ordered = [
    ...all.filter(({ kind }) => kind !== 'fact'),
    ...Object.keys(HEADINGS).flatMap((group) =>
      all.filter((one) => one.kind === 'fact' && one.group === group),
    ),
  ];
  const lines: string[] = [];
  let heading: string | undefined;
  for (const difference of ordered.slice(0, most)) {
    if (difference.kind !== 'fact') {
      lines.push(line(difference));
      continue;
    }
    if (heading !== HEADINGS[difference.group]) {
      heading = HEADINGS[difference.group];
      lines.push(heading);
    }
    lines.push(`  ${line(difference)}`);
  }
  return lines;
}

/** Without values. A report has only the kinds of a fact's states. */
function describeBare(difference: KeyDifference): string {
  if (difference.kind !== 'fact') return differenceText(difference);
  const { name, before, after } = difference;
  return before === after ? `${name}: ${after} changed` : describe(difference);
}

export function describe(difference: KeyDifference): string {
  switch (difference.kind) {
    case 'variable':
    case 'platform':
      return describeValue(difference.name, difference.before, difference.after);
    case 'command':
      return `command ${quote(difference.before)} -> ${quote(difference.after)}`;
    case 'working-directory':
      return `working directory ${difference.before || '.'} -> ${difference.after || '.'}`;
    case 'key-version':
      return `key format ${difference.before} -> ${difference.after}`;
    case 'fact':
      return `${difference.name}: ${shortened(difference.before)} -> ${shortened(difference.after)}`;
    default:
      return differenceText(difference);
  }
}

/** Says that a secret changed, but never its value. */
function describeValue(name: string, before: string | undefined, after: string | undefined): string {
  if (looksSecretVariable(name)) return `${name} changed`;
  if (before === undefined) return `${name} was added (${shortened(after ?? '')})`;
  if (after === undefined) return `${name} was removed (${shortened(before)})`;
  return `${name} ${shortened(before)} -> ${shortened(after)}`;
}

function quote(command: readonly string[]): string {
  return command
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? shortened(word) : `'${word.replaceAll("'", `'\\''`)}'`))
    .join(' ');
}

/** A digest takes 12 digits of a line. */
function shortened(text: string): string {
  return text.replace(/\b[0-9a-f]{64}\b/g, (digest) => digest.slice(0, 12));
}

/** `machine`: whose own earlier run it was, if no server sent it. */
export function seenText({ namespace, run, at }: SeenIn, machine = 'this machine'): string {
  const when = new Date(at).toISOString();
  if (run === undefined) return `on ${machine}, by the run of ${when}`;
  return `${namespace ? `in ${namespace}` : 'at the server'}, by the run ${run} of ${when}`;
}

/** `unlisted`: how many differences a report counts and does not list. It has no values. */
export function whatDiffers(
  found: readonly KeyDifference[],
  { shown, unlisted }: { readonly shown: number; readonly unlisted?: number },
): string[] {
  const missing = unlisted ?? 0;
  if (found.length + missing === 0) return [];
  const hidden = Math.max(0, found.length - shown);
  return [
    '',
    'What differs:',
    ...differenceLines(found, shown, unlisted === undefined ? describe : describeBare).map(
      (line) => `  ${line}`,
    ),
    ...(hidden > 0 ? [`  … and ${hidden} more: --all lists them`] : []),
    ...(missing > 0 ? [`  … and ${missing} more, which the report does not list`] : []),
  ];
}
