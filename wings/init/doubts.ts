// The remarks about a step that was observed only once: what a person should check, and what to do.

import type { Audit } from '../../client/audit/audit.ts';
import type { Step } from '../../client/config/step.ts';
import { ROOT } from '../../core/path.ts';

interface Seen {
  readonly audit: Audit;
  readonly outputs: readonly string[];
  /** Ignored files that it read and that no observed step writes. */
  readonly hidden: readonly string[];
  /** Variable names that appear in the files it read. */
  readonly variables: readonly string[];
}

const UNSURE: Readonly<Record<string, string>> = {
  net: 'it uses the network',
  unix: 'it talks to another process',
  mutate: 'it changes a file that existed before',
  delete: 'it removes a file that it did not create',
  survivor: 'it leaves a process running',
};

/** Usual names of steps that write outputs. */
const WRITING_STEPS = /^(?:build|compile|generate|codegen|all|docs|bundle|dist)\b/;

const START_OVER = 'clean up, remove what init wrote, and run it again';

const MOST_NAMES = 8;

export function doubtsAbout(step: Step, { audit, outputs, hidden, variables }: Seen): string[] {
  const { gaps, findings } = audit;
  const seen = findings.flatMap(({ kind, path = '', detail = '' }) =>
    UNSURE[kind] === undefined ? [] : [`${UNSURE[kind]}: ${path || detail}`],
  );
  const outside = outputs.filter((path) => step.folder !== ROOT && !path.startsWith(`${step.folder}/`));
  const doubts: string[] = [];
  doubts.push(...gaps.map((gap) => `the trace is incomplete: ${gap}`));
  doubts.push(...outside.map((path) => `it writes outside its package: ${path}`));
  if (hidden.length > 0)
    doubts.push(
      `it reads files that .gitignore hides, which are not declared: ${someOf(hidden)}. If an earlier run wrote them, ${START_OVER}; else add them to "inputs" by name`,
    );
  else if (outputs.length === 0 && WRITING_STEPS.test(step.name))
    doubts.push(`it wrote no output. If the outputs existed before, ${START_OVER}`);
  if (variables.length > 0)
    doubts.push(`it may use these variables, and sees only those that "env" names: ${someOf(variables)}`);
  return [...doubts, ...new Set(seen)];
}

function someOf(names: readonly string[]): string {
  const more = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : '';
  return `${names.slice(0, MOST_NAMES).join(', ')}${more}`;
}
