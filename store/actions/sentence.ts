// The sentence about a difference between two actions, as runs, servers and pages show it.
// It has names and no values: a variable or a command line may hold a secret, and a reason is shared in reports.
import type { Difference } from './difference.ts';

/** One line: the first difference and the number of others. */
export function sentenceOfAll([first, ...more]: readonly [Difference, ...Difference[]]): string {
  const sentence = sentenceOf(first);
  return more.length === 0 ? sentence : `${sentence} (and ${more.length} more)`;
}

export function sentenceOf(difference: Difference): string {
  switch (difference.kind) {
    case 'input':
      return `${difference.path} ${verbOf(difference.change)}`;
    case 'output':
      return `the declared output ${difference.path} ${verbOf(difference.change)}`;
    case 'tool':
      return `the tool ${difference.name} ${verbOf(difference.change)}`;
    case 'variable':
      return `the variable ${difference.name} ${verbOf(changeOf(difference))}`;
    case 'platform':
      return `the platform property ${difference.name} ${verbOf(changeOf(difference))}`;
    case 'command':
      return 'the command line changed';
    case 'working-directory':
      return 'the working directory changed';
    case 'fact':
      return `${difference.name} differs`;
    case 'key-version':
      return 'Assay made the key in another way';
  }
}

type Change = 'changed' | 'added' | 'removed';

function changeOf({ before, after }: { readonly before?: string; readonly after?: string }): Change {
  return before === undefined ? 'added' : after === undefined ? 'removed' : 'changed';
}

function verbOf(change: Change): string {
  return change === 'changed' ? 'changed' : `was ${change}`;
}
