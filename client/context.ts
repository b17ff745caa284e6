// What a run needs from outside: caches, the caller's variables, ears for what the command says, somewhere to report.
import type { Writable } from 'node:stream';
import type { Cache } from './cache.ts';
import type { Variables } from './environment.ts';
import type { Report } from './events.ts';

export interface RunContext {
  readonly cache: Cache;
  readonly caller: Variables;
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly report: Report;
  now(): number;
}
