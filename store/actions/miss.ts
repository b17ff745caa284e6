// Why an action ran instead of being a hit, as data. miss-text.ts has the words; nothing else writes or reads them.
import type { MissCause } from '../../core/metadata/run-report-schema.ts';
import type { KeyDifference } from './difference.ts';

export type Miss =
  /** The closest earlier action differs. */
  | { readonly kind: 'differs'; readonly first: KeyDifference; readonly more: number }
  /** A fact of the earlier results of the same action differs. `note`: what to do about it, or "". */
  | {
      readonly kind: 'fact';
      readonly name: string;
      readonly now: FactNow;
      readonly note: string;
      readonly more: number;
    }
  /** `why`: in words (client/run/acceptance.ts). */
  | { readonly kind: 'refused'; readonly why: string }
  /** The same action ran before. `why`: in words, why nothing was published then. */
  | { readonly kind: 'not-kept'; readonly why?: string | undefined; readonly isStrict: boolean }
  | { readonly kind: 'failed-before'; readonly why?: string | undefined; readonly exitCode: number }
  | { readonly kind: 'forced'; readonly by: '--force' | '--check-hits' }
  | { readonly kind: 'not-cached' }
  | { readonly kind: 'first-run' }
  | { readonly kind: 'unknown'; readonly lack: Lack };

/** What became of the path or property of a fact. */
export type FactNow =
  | 'new'
  | 'gone'
  | 'changed'
  | 'another'
  | `a ${'file' | 'folder' | 'link'}`
  | 'something else';

/** What an explanation would have needed. */
export type Lack = 'store' | 'earlier-action' | 'server' | 'answer' | 'time';

/** Undefined if nothing differs. */
export function missBy([first, ...more]: readonly KeyDifference[]): Miss | undefined {
  return first && { kind: 'differs', first, more: more.length };
}

/** The part that reports have, by which misses are counted together. */
export function causeOfMiss(miss: Miss): MissCause {
  if (miss.kind === 'differs') return causeOfDifference(miss.first);
  return miss.kind === 'fact' ? { kind: 'fact', name: miss.name } : { kind: miss.kind };
}

export function causeOfDifference(difference: KeyDifference): MissCause {
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
