// Everything that a run wants a person or a machine to know while it goes on. Reporters consume it; the flow never prints.
import type { RelPath } from '../core/path.ts';

export type RunEvent =
  /** The cache, or a part of it, is not to be had; the command runs all the same. */
  | { readonly type: 'store-unusable'; readonly why: string }
  | { readonly type: 'remote-given-up'; readonly why: string }
  | { readonly type: 'hit-unusable'; readonly why: string }
  | { readonly type: 'not-published'; readonly why: string }
  /** Another run works on the same output here. */
  | { readonly type: 'waiting'; readonly output: RelPath }
  | { readonly type: 'stray-link'; readonly path: RelPath }
  | { readonly type: 'secret-declared'; readonly name: string }
  | {
      readonly type: 'transfer';
      readonly direction: 'up' | 'down';
      readonly done: number;
      readonly of: number;
      readonly bytes: number;
    };

export type Report = (event: RunEvent) => void;
