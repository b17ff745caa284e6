// What a person should look at in a step that was only watched once, in words, each with what to do about it.
import { ROOT } from '../../../core/path.ts';
import type { Audit } from '../../audit/audit.ts';
import type { Step } from '../step.ts';

export interface Seen {
  readonly audit: Audit;
  readonly outputs: readonly string[];
  /** What it read and .gitignore hides, made by no step that was watched. */
  readonly hidden: readonly string[];
  /** Names that appear in what it read. */
  readonly variables: readonly string[];
}

const UNSURE: Readonly<Record<string, string>> = {
  net: 'it uses the network',
  unix: 'it talks to another process',
  mutate: 'it changes a file that was there',
  delete: 'it removes a file that it did not make',
  survivor: 'it leaves a process running',
};

/** Steps that are meant to make something, by their usual names. */
const MAKERS = /^(?:build|compile|generate|codegen|all|docs|bundle|dist)\b/;

const BEGIN_AGAIN = 'clean up, remove what init wrote, and run it again';

const MOST_NAMES = 8;

export function doubtsAbout(step: Step, { audit, outputs, hidden, variables }: Seen): string[] {
  const { exitCode, gaps, findings } = audit;
  const seen = findings.flatMap(({ kind, path = '', detail = '' }) =>
    UNSURE[kind] === undefined ? [] : [`${UNSURE[kind]}: ${path || detail}`],
  );
  const outside = outputs.filter((path) => step.folder !== ROOT && !path.startsWith(`${step.folder}/`));
  const doubts: string[] = [];
  if (exitCode !== 0) doubts.push(`it ended with ${exitCode}, so it may read and make more than was seen`);
  doubts.push(...gaps.map((gap) => `not all could be seen: ${gap}`));
  doubts.push(...outside.map((path) => `it makes something outside of its package: ${path}`));
  if (hidden.length > 0)
    doubts.push(
      `it reads what .gitignore hides, which is not declared: ${someOf(hidden)}. If an earlier run made it, ${BEGIN_AGAIN}; else add it to "inputs" by its name`,
    );
  else if (outputs.length === 0 && MAKERS.test(step.name))
    doubts.push(`it made nothing. If all of it was there already, ${BEGIN_AGAIN}`);
  if (variables.length > 0)
    doubts.push(`variables that it may look at, and sees only if "env" names them: ${someOf(variables)}`);
  return [...doubts, ...new Set(seen)];
}

function someOf(names: readonly string[]): string {
  const more = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : '';
  return `${names.slice(0, MOST_NAMES).join(', ')}${more}`;
}
