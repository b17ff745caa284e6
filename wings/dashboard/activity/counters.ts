// The counts of one namespace in one minute or hour, and their JSON in the history.
import { bucketOf, emptyLatency } from '../../../server/request/latency.ts';

export class Counters {
  requests = 0;
  errors = 0;
  savedMs = 0;
  runs = 0;
  received = 0;
  sent = 0;
  /** What became of action leases, and of waits for them. */
  readonly leases = { granted: 0, waited: 0, hedged: 0, expired: 0, savedMs: 0 };
  readonly latency = emptyLatency();
  /** Hits and misses of results by tool. */
  readonly tools = new Map<string, [hits: number, misses: number]>();
  /** When each tool was last seen over each protocol, and how many lookups it made so. */
  readonly seen = new Map<string, Seen>();

  answered(milliseconds: number): void {
    this.requests++;
    const bucket = bucketOf(milliseconds);
    this.latency[bucket] = (this.latency[bucket] ?? 0) + 1;
  }

  lookedUp(tool: string, found: boolean): void {
    let counts = this.tools.get(tool);
    if (!counts) {
      counts = [0, 0];
      this.tools.set(tool, counts);
    }
    counts[found ? 0 : 1]++;
  }

  saw(toolAndProtocol: string, at: number): void {
    const seen = this.seen.get(toolAndProtocol);
    if (!seen) {
      this.seen.set(toolAndProtocol, { at, lookups: 1 });
      return;
    }
    seen.at = at;
    seen.lookups++;
  }

  add(other: Counters): void {
    this.requests += other.requests;
    this.errors += other.errors;
    this.savedMs += other.savedMs;
    this.runs += other.runs;
    this.received += other.received;
    this.sent += other.sent;
    this.leases.granted += other.leases.granted;
    this.leases.waited += other.leases.waited;
    this.leases.hedged += other.leases.hedged;
    this.leases.expired += other.leases.expired;
    this.leases.savedMs += other.leases.savedMs;
    for (const [at, count] of other.latency.entries()) this.latency[at] = (this.latency[at] ?? 0) + count;
    for (const [tool, [hits, misses]] of other.tools) {
      const own = this.tools.get(tool) ?? [0, 0];
      this.tools.set(tool, [own[0] + hits, own[1] + misses]);
    }
    for (const [name, { at, lookups }] of other.seen) {
      const own = this.seen.get(name) ?? { at: 0, lookups: 0 };
      this.seen.set(name, { at: Math.max(at, own.at), lookups: own.lookups + lookups });
    }
  }

  get hits(): number {
    return this.#sum(0);
  }

  get misses(): number {
    return this.#sum(1);
  }

  #sum(at: 0 | 1): number {
    let sum = 0;
    for (const counts of this.tools.values()) sum += counts[at];
    return sum;
  }

  /** Short, because there is one for each minute. */
  toJSON(): StoredCounters {
    const { requests, errors, savedMs, runs, received, sent, leases, latency, tools, seen } = this;
    const { granted, waited, hedged, expired } = leases;
    const ofLeases = [granted, waited, hedged, expired, leases.savedMs];
    return {
      n: [requests, errors, savedMs, runs, received, sent],
      l: latency,
      t: [...tools],
      s: [...seen].map(inOrder),
      ...(ofLeases.some((one) => one > 0) && { w: ofLeases }),
    };
  }

  static from({ n, l, t, s = [], w = [] }: StoredCounters): Counters {
    const counters = new Counters();
    const [requests = 0, errors = 0, savedMs = 0, runs = 0, received = 0, sent = 0] = n;
    Object.assign(counters, { requests, errors, savedMs, runs, received, sent });
    const [granted = 0, waited = 0, hedged = 0, expired = 0, ranMs = 0] = w;
    Object.assign(counters.leases, { granted, waited, hedged, expired, savedMs: ranMs });
    for (const [at, count] of l.entries()) counters.latency[at] = count;
    for (const [tool, counts] of t) counters.tools.set(tool, counts);
    for (const [name, at, lookups = 0] of s) counters.seen.set(name, { at, lookups });
    return counters;
  }
}

interface Seen {
  at: number;
  lookups: number;
}

function inOrder([name, { at, lookups }]: [string, Seen]): [string, number, number] {
  return [name, at, lookups];
}

export interface StoredCounters {
  readonly n: readonly number[];
  readonly l: readonly number[];
  readonly t: readonly (readonly [string, [number, number]])[];
  /** Documents of 0.1 have none, and some of 0.2 no number of lookups. */
  readonly s?: readonly (readonly [string, number, number?])[];
  /** Of action leases. Absent without any. */
  readonly w?: readonly number[];
}
