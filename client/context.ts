// What a run needs from outside: caches, the caller's variables, ears for what the command says, somewhere to report.
import type { Cache } from './cache.ts';
import type { Variables } from './environment.ts';
import type { Report } from './events.ts';
import type { KeyedAction } from './key.ts';
import type { Ear } from './outlet.ts';
import type { Ownership } from './output-lock.ts';

export interface RunContext {
  readonly cache: Cache;
  readonly caller: Variables;
  readonly stdout: Ear;
  readonly stderr: Ear;
  readonly report: Report;
  /** The command is to find nothing of earlier runs, whatever is kept. */
  readonly withoutState?: boolean;
  /** Uploads go on beside this run: whoever opened the cache waits for them at the end. */
  readonly sharesLater?: boolean;
  /** Resolves when the command may run, where only so many may at once. Rejects if it no longer may. */
  turn?(): Promise<void>;
  /** Throws if nothing is to begin any more: asked by whoever waits for somebody else. */
  goOn?(): void;
  /** Of its outputs, where it has them to itself. */
  readonly ownership?: Ownership;
  /** Ends the command. */
  readonly signal?: AbortSignal | undefined;
  now(): number;
  /** Hears the action as soon as it has its key. */
  keyed?(action: KeyedAction): void;
}
