// The accounting of requests: counts lookups of results by tool and namespace for /metrics, and tells observers.
// Guarantees: no request waits for it or fails because of it, and its memory has a bound.
//
// A request appends to a list, and many are counted at once, a tenth of a second later at most. That costs a request
// about a third of being counted by itself (docs/decisions/0400). Whoever reads counts, or adds to them, first
// counts what waits.
import type { IncomingHttpHeaders } from 'node:http';
import { DEFAULT_NAMESPACE, type Namespace, writtenFrom } from '../../core/namespace.ts';
import type { LogEntry } from '../../store/log/write-log.ts';
import type { Identity } from '../access/identity.ts';
import { ACCOUNTING } from '../limits.ts';
import { Callers } from './caller.ts';
import type { Lookup, Metrics } from './metrics.ts';
import { withoutVersion } from './named-namespace.ts';
import type { CountedLookup, LeaseEvent, Observer, Place, Session } from './observer.ts';
import { PredictedResults } from './predictions.ts';

/** The caller of a request, and the namespace that it names. */
interface Asked {
  readonly identity: Identity;
  readonly headers: IncomingHttpHeaders;
  /** Names the tool if it does not name itself. */
  readonly protocol: string;
  /** As the store has it. */
  readonly namespace: Namespace;
}

/** A request for a result. */
export interface AskedResult extends Asked {
  readonly key: string;
}

/** A lookup of a result. */
export interface LookedUp extends AskedResult {
  readonly found: boolean;
}

interface AccountingOptions {
  readonly metrics: Pick<Metrics, 'lookedUp' | 'lookedUpBy' | 'denied'>;
  readonly onTrouble: (error: unknown) => void;
  readonly now?: () => number;
}

export class Accounting {
  readonly #metrics: AccountingOptions['metrics'];
  readonly #onTrouble: AccountingOptions['onTrouble'];
  readonly #now: () => number;
  readonly #callers = new Callers();
  readonly #observers: Observer[] = [];
  readonly #predictions = new PredictedResults((asked) => this.lookedUp('ac', { ...asked, found: true }));
  /** Reported, and not counted yet. */
  #lookups: LookedUp[] = [];
  readonly #answered: Namespace[] = new Array(ACCOUNTING.countedAtOnce).fill(DEFAULT_NAMESPACE);
  readonly #answeredMs = new Float64Array(ACCOUNTING.countedAtOnce);
  #answers = 0;
  /** When the first of them came. */
  #toldAt = 0;
  #counting: NodeJS.Timeout | undefined;

  constructor({ metrics, onTrouble, now = Date.now }: AccountingOptions) {
    this.#metrics = metrics;
    this.#onTrouble = onTrouble;
    this.#now = now;
  }

  /** Before the first request. */
  addObserver(observer: Observer): void {
    this.#observers.push(observer);
  }

  start(): void {
    for (const observer of this.#observers) observer.start();
  }

  /** A response began after this time. */
  answered(identity: Identity | undefined, isError: boolean, milliseconds: number): void {
    if (this.#observers.length === 0) return;
    const namespace = identity?.namespace ?? DEFAULT_NAMESPACE;
    if (isError) {
      /* Both in one minute: together with others, the request could count for the minute before. */
      this.count();
      const at = this.#now();
      this.#tell((observer) => observer.answered(namespace, true, milliseconds, at));
      return;
    }
    if (this.#answers === this.#answered.length) this.count();
    this.#countSoon();
    this.#answered[this.#answers] = namespace;
    this.#answeredMs[this.#answers] = milliseconds;
    this.#answers++;
  }

  lookedUp(kind: Lookup, lookup: LookedUp): void {
    this.#metrics.lookedUp(kind, lookup.found);
    if (this.#lookups.length === ACCOUNTING.countedAtOnce) this.count();
    this.#countSoon();
    this.#lookups.push(lookup);
  }

  /** A result was sent before the client had asked for it. */
  predicted(asked: AskedResult): void {
    this.#predictions.add(asked);
  }

  /** The client asks for another result instead. False if the prediction is counted as a hit already. */
  dropPrediction(asked: AskedResult): boolean {
    return this.#predictions.drop(asked);
  }

  /** An entry of the write log. */
  wrote(entry: LogEntry): void {
    this.count();
    this.#tell((observer) => observer.wrote(entry));
  }

  /** `route`: of HTTP, or the method of gRPC. */
  denied(identity: Identity | undefined, route: string, why: string): void {
    this.#metrics.denied(route);
    this.#tell((observer) => observer.denied(identity, route, why));
  }

  /** A tool tells which of its lookups belong to one session. */
  toldSession(asked: Asked, session: Session): void {
    this.count();
    const place = this.#placeOf(asked, this.#now());
    this.#tell((observer) => observer.toldSession(place, session));
  }

  leased({ namespace }: Identity, event: LeaseEvent): void {
    this.count();
    this.#tell((observer) => observer.leased?.(namespace, event, this.#now()));
  }

  #countSoon(): void {
    if (this.#answers + this.#lookups.length > 0) return;
    this.#toldAt = this.#now();
    this.#counting ??= setTimeout(() => {
      this.#counting = undefined;
      this.count();
    }, ACCOUNTING.countAfterMs).unref();
  }

  /** Counts what came until now. */
  count(): void {
    const [lookups, answers, at] = [this.#lookups, this.#answers, this.#toldAt];
    this.#answers = 0;
    if (lookups.length > 0) this.#lookups = [];
    const counted = lookups.map((lookup) => this.#countedLookup(lookup, at));
    this.#tell((observer) => {
      for (const lookup of counted) observer.lookedUp(lookup);
      for (let index = 0; index < answers; index++)
        observer.answered(
          this.#answered[index] ?? DEFAULT_NAMESPACE,
          false,
          this.#answeredMs[index] ?? 0,
          at,
        );
    });
  }

  #countedLookup(lookup: LookedUp, at: number): CountedLookup {
    const { caller, identity, namespace, owner } = this.#placeOf(lookup, at);
    const { key, found } = lookup;
    this.#metrics.lookedUpBy(caller.tool, owner, found);
    return { at, caller, identity, namespace, owner, key, found };
  }

  #placeOf({ identity, headers, protocol, namespace: stored }: Asked, at: number): Place {
    const namespace = withoutVersion(stored);
    const caller = this.#callers.of(headers, protocol);
    return { at, caller, identity: identity.name, namespace, owner: writtenFrom(namespace) };
  }

  #tell(tell: (observer: Observer) => void): void {
    for (const observer of this.#observers)
      try {
        tell(observer);
      } catch (error) {
        this.#onTrouble(error);
      }
  }

  async close(): Promise<void> {
    clearTimeout(this.#counting);
    this.#predictions.close();
    this.count();
    await Promise.all(this.#observers.map((observer) => observer.close()));
  }
}
