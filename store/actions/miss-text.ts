// The words for a miss, for its cause and for a difference, as runs, servers and pages show them.
// They have names and no values: a variable or a command line may hold a secret, and a reason is shared in reports.
import type { MissKind } from '../../core/metadata/run-report.ts';
import type { MissCause } from '../../core/metadata/run-report-schema.ts';
import type { KeyDifference } from './difference.ts';
import type { FactNow, Lack, Miss } from './miss.ts';

/** One line. */
export function missText(miss: Miss): string {
  switch (miss.kind) {
    case 'differs':
      return `${differenceText(miss.first)}${andMore(miss.more)}`;
    case 'fact':
      return `${miss.name} ${becameText(miss.now)}${miss.note === '' ? '' : `, ${miss.note}`}${andMore(miss.more)}`;
    case 'refused':
      return `refused: ${miss.why}`;
    case 'not-kept':
      if (miss.why !== undefined) return LEFT_NOTHING + miss.why;
      return miss.isStrict
        ? 'it ran before, but no result is stored that is known to be hermetic'
        : 'it ran before, but no usable result is stored';
    case 'failed-before':
      return FAILED + (miss.why ?? `it ended with ${miss.exitCode}`);
    case 'forced':
      return miss.by === '--force' ? 'forced' : 'its hit was to be checked';
    case 'not-cached':
      return 'it is not cached';
    case 'first-run':
      return 'no earlier run';
    case 'unknown':
      return LACKS[miss.lack];
  }
}

function becameText(now: FactNow): string {
  if (now === 'new') return 'was not there before';
  if (now === 'changed') return now;
  return now === 'gone' || now === 'another' ? `is ${now}` : `is ${now} now`;
}

const LACKS: Readonly<Record<Lack, string>> = {
  store: 'there is no usable store',
  'earlier-action': 'it ran before, but the earlier action is no longer stored for comparison',
  server:
    'no earlier run on this machine, and the remote can’t tell: only an Assay server that the token reads keeps runs',
  answer: 'no earlier run on this machine, and the remote did not answer',
  time: 'it ran before, but what differs could not be read from the remote in time',
};

const LEFT_NOTHING = 'it ran before, but left no result: ';
const FAILED = 'it failed before: ';

/** Whether the text of a miss already says `why` nothing was kept. */
export function saysWhyNotKept(text: string, why: string): boolean {
  return text === LEFT_NOTHING + why || text === FAILED + why;
}

function andMore(count: number): string {
  return count === 0 ? '' : ` (and ${count} more)`;
}

export function differenceText(difference: KeyDifference): string {
  switch (difference.kind) {
    case 'input':
    case 'output':
      return changeText(difference.kind, difference.path, difference.change);
    case 'tool':
      return changeText('tool', difference.name, difference.change);
    case 'variable':
    case 'platform':
      return changeText(difference.kind, difference.name, changeOf(difference));
    case 'command':
      return COMMAND_CHANGED;
    case 'working-directory':
      return 'the working directory changed';
    case 'fact':
      return `${difference.name} differs`;
    case 'key-version':
      return OTHER_KEY;
  }
}

const COMMAND_CHANGED = 'the command line changed';
const OTHER_KEY = 'Assay made the key in another way';

const NOUNS = {
  input: '',
  output: 'the declared output ',
  tool: 'the tool ',
  variable: 'the variable ',
  platform: 'the platform property ',
};

type Change = 'changed' | 'added' | 'removed';

function changeText(kind: keyof typeof NOUNS, name: string, change: Change = 'changed'): string {
  return `${NOUNS[kind]}${name} ${change === 'changed' ? change : `was ${change}`}`;
}

function changeOf({ before, after }: { readonly before?: string; readonly after?: string }): Change {
  return before === undefined ? 'added' : after === undefined ? 'removed' : 'changed';
}

/** For all misses with this cause. */
export function causeText({ kind, name = 'something' }: MissCause): string {
  return CAUSES[kind](name);
}

const CAUSES: Readonly<Record<MissKind, (name: string) => string>> = {
  input: (name) => changeText('input', name),
  variable: (name) => changeText('variable', name),
  tool: (name) => changeText('tool', name),
  platform: (name) => changeText('platform', name),
  command: () => COMMAND_CHANGED,
  outputs: (name) => changeText('output', name),
  version: () => OTHER_KEY,
  fact: (name) => `${name} differs on this machine`,
  refused: () => 'a stored result was refused',
  'not-kept': () => 'the result of an earlier run was not kept',
  'failed-before': () => 'the command failed before, and failures are not cached',
  forced: () => 'the run was forced with --force',
  'not-cached': () => 'the step is not cached ("cache": false)',
  'first-run': () => 'there was no earlier run to compare with',
  unknown: () => 'the cause is not known',
};
