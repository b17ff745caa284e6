// The cause of a miss: what a difference between two actions is about, without the values that differ.
import type { MissCause } from '../../core/metadata/run-report.ts';
import type { Difference } from './difference.ts';

export function missCauseOf(difference: Difference): MissCause {
  switch (difference.kind) {
    case 'input':
      return { kind: 'input', name: difference.path };
    case 'output':
      return { kind: 'outputs', name: difference.path };
    case 'variable':
    case 'tool':
    case 'platform':
    case 'fact':
      return { kind: difference.kind, name: difference.name };
    case 'command':
    case 'working-directory':
      return { kind: 'command' };
    case 'key-version':
      return { kind: 'version' };
  }
}
