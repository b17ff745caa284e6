// What a run needs from outside: caches, the caller's variables, ears for what the command says, somewhere to report.

import type { Variables } from '../action/environment.ts';
import type { Ownership } from '../outputs/output-lock.ts';
import type { Report } from '../terminal/events.ts';
import type { Writable } from '../terminal/sync-stream.ts';
import type { Cache } from './caches.ts';
import type { KeyedAction } from './key.ts';

export interface RunContext {
  readonly cache: Cache;
  readonly caller: Variables;
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly report: Report;
  /** The command is to find nothing of earlier runs, whatever is kept. */
  readonly withoutState?: boolean;
  /** Uploads go on beside this run: whoever opened the cache waits for them at the end. */
  readonly uploadsLater?: boolean;
  /** Resolves when the command may run, where only so many may at once. Rejects if it no longer may. */
  acquireJobSlot?(): Promise<void>;
  /** Throws if nothing is to begin any more: asked by whoever waits for somebody else. */
  throwIfCancelled?(): void;
  /** Of its outputs, where it has them to itself. */
  readonly ownership?: Ownership;
  /** Ends the command. */
  readonly signal?: AbortSignal | undefined;
  now(): number;
  /** Hears the action as soon as it has its key. */
  onKeyed?(action: KeyedAction): void;
}
