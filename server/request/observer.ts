// The port through which a wing learns what clients do: lookups, responses, writes, refusals and sessions.
// Guarantee: no request waits for an observer, or fails because of it. The accounting tells it, mostly of many requests at
// once (accounting.ts).
import type { Namespace } from '../../core/namespace.ts';
import type { LogEntry } from '../../store/log/write-log.ts';
import type { Identity } from '../access/identity.ts';
import type { Caller } from './caller.ts';

/** The client, the time and the namespace of a request. */
export interface Place {
  readonly at: number;
  readonly caller: Caller;
  /** The name of the token. */
  readonly identity: string;
  /** As the store has it, without what no person named (named-namespace.ts). */
  readonly namespace: Namespace;
  /** The namespace of the token. */
  readonly owner: Namespace;
}

export interface CountedLookup extends Place {
  readonly key: string;
  readonly found: boolean;
}

/** What a tool tells about a session of its own: which lookups belong to it, and what its hits saved. */
export interface Session {
  readonly id: string;
  readonly lookups: readonly {
    readonly key: string;
    readonly what: 'hit' | 'miss';
    readonly savedMs: number;
  }[];
}

/** What became of an action lease, or of a wait for one. */
export interface LeaseEvent {
  /** `waited`: until the result came. `hedged`: the wait was given up. `expired`: its holder had died. */
  readonly what: 'granted' | 'waited' | 'hedged' | 'expired';
  /** How long the action took that was not executed again. */
  readonly savedMs: number;
}

export interface Observer {
  /** The server listens. */
  start(): void;
  lookedUp(lookup: CountedLookup): void;
  /** A response began after this time. `isError`: the server failed. */
  answered(namespace: Namespace, isError: boolean, milliseconds: number, at: number): void;
  /** An entry of the write log. */
  wrote(entry: LogEntry): void;
  /** `protocol`: the route of HTTP, or the method of gRPC. */
  denied(identity: Identity | undefined, protocol: string, why: string): void;
  toldSession(place: Place, session: Session): void;
  leased?(namespace: Namespace, event: LeaseEvent, at: number): void;
  /** No request comes after this. */
  close(): Promise<void>;
}
