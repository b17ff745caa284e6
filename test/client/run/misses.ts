// The words for misses that tests expect. explain.test.ts holds the words themselves; other tests hold which miss it is.
import { parseRelPath } from '../../../core/path.ts';
import type { KeyDifference } from '../../../store/actions/difference.ts';
import type { FactNow, Lack } from '../../../store/actions/miss.ts';
import { missText } from '../../../store/actions/miss-text.ts';

export const FIRST_RUN = missText({ kind: 'first-run' });

export function lacking(lack: Lack): string {
  return missText({ kind: 'unknown', lack });
}

export function factIs(name: string, now: FactNow, note = ''): string {
  return missText({ kind: 'fact', name, now, note, more: 0 });
}

export function changed(kind: 'input' | 'variable' | 'tool' | 'command', name = '', more = 0): string {
  return missText({ kind: 'differs', first: differenceOf(kind, name), more });
}

function differenceOf(kind: 'input' | 'variable' | 'tool' | 'command', name: string): KeyDifference {
  switch (kind) {
    case 'input':
      return { kind, path: parseRelPath(name), change: 'changed' };
    case 'tool':
      return { kind, name, change: 'changed' };
    case 'variable':
      return { kind, name, before: '', after: '' };
    case 'command':
      return { kind, before: [], after: [] };
  }
}
