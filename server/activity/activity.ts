// Activity: what the request handlers tell, and the timer that writes it to the store's history.
// Guarantees: no request waits for it or fails because of it, and its memory has a bound. A crash loses what
// happened since the last flush.
import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { hostname } from 'node:os';
import { DEFAULT_NAMESPACE, type Namespace, writtenFrom } from '../../core/namespace.ts';
import { VERSION } from '../../core/version.ts';
import type { History } from '../../store/history.ts';
import type { LogEntry } from '../../store/log/write-log.ts';
import type { Identity } from '../access/identity.ts';
import { documentOf } from '../dashboard/documents.ts';
import { DASHBOARD } from '../limits.ts';
import { Callers } from './caller.ts';
import { DeniedWrites } from './denied.ts';
import { Figures } from './figures.ts';
import { addLookup, RequestGroups } from './groups.ts';
import { bucketOf } from './latency.ts';
import { LiveTail } from './tail.ts';

export interface ActivityOptions {
  /** Undefined: nothing is kept, and the figures are those of this process. */
  readonly history: History | undefined;
  /** Bytes since the start, of all namespaces together. */
  readonly bytes: () => { readonly received: number; readonly sent: number };
  readonly onTrouble: (error: unknown) => void;
  readonly onLookup?: (tool: string, namespace: Namespace, found: boolean) => void;
  readonly now?: () => number;
}

/** A lookup of a result. */
export interface LookedUp {
  readonly identity: Identity;
  readonly headers: IncomingHttpHeaders;
  /** Names the tool if it does not name itself. */
  readonly protocol: string;
  /** As the store has it. */
  readonly namespace: Namespace;
  readonly key: string;
  readonly found: boolean;
}

const PROCESS_BYTES = 5;

export class Activity {
  readonly figures: Figures;
  readonly tail: LiveTail;
  /** When each tool was last seen, by tool and protocol. */
  readonly seen = new Map<string, number>();
  /** Unique among all processes that use the store. */
  readonly process = randomBytes(PROCESS_BYTES).toString('hex');
  readonly #callers = new Callers();
  readonly #groups = new RequestGroups(this.process);
  readonly #denied = new DeniedWrites(this.process);
  readonly #options: ActivityOptions;
  readonly #now: () => number;
  #bytes = { received: 0, sent: 0 };
  #timer: NodeJS.Timeout | undefined;
  #announcedAt: number;
  #flushing: Promise<void> = Promise.resolve();

  constructor(options: ActivityOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#announcedAt = this.#now();
    this.figures = new Figures(this.process, this.#now);
    this.tail = new LiveTail(this.process);
  }

  start(): void {
    const { history } = this.#options;
    if (!history) return;
    this.#timer = setInterval(() => this.#flushSoon(history, false), DASHBOARD.flushMs).unref();
  }

  /** A response began after this time. */
  answered(identity: Identity | undefined, isError: boolean, milliseconds: number): void {
    const counters = this.figures.of(identity?.namespace ?? DEFAULT_NAMESPACE);
    counters.requests++;
    if (isError) counters.errors++;
    const bucket = bucketOf(milliseconds);
    counters.latency[bucket] = (counters.latency[bucket] ?? 0) + 1;
  }

  lookedUp({ identity: { name: identity }, headers, protocol, namespace, key, found }: LookedUp): void {
    const at = this.#now();
    const caller = this.#callers.of(headers, protocol);
    const { tool } = caller;
    const owner = writtenFrom(namespace);
    this.figures.of(owner, at).lookedUp(tool, found);
    this.#options.onLookup?.(tool, owner, found);
    this.seen.set(caller.toolAndProtocol, at);
    const group = this.#groups.find(caller, owner, { namespace, identity, at });
    const what = found ? 'hit' : 'miss';
    const lookup = { at, tool, what, namespace, identity, key, run: group?.id } as const;
    if (group) addLookup(group, lookup);
    this.tail.add(lookup);
  }

  /** An entry of the write log. */
  wrote({ what, identity, protocol, namespace, key }: LogEntry): void {
    if (what !== 'result' || typeof namespace !== 'string' || typeof key !== 'string') return;
    const at = this.#now();
    const stored = {
      at,
      tool: protocol,
      what: 'stored',
      namespace: namespace as Namespace,
      identity,
      key,
      run: undefined,
    } as const;
    this.tail.add(stored);
  }

  denied(identity: Identity | undefined, tool: string, why: string): void {
    const namespace = identity?.namespace ?? DEFAULT_NAMESPACE;
    this.#denied.add(namespace, this.#now(), { identity: identity?.name ?? '', tool, why });
  }

  ran(namespace: Namespace, savedMs: number): void {
    const counters = this.figures.of(writtenFrom(namespace));
    counters.runs++;
    counters.savedMs += savedMs;
  }

  /** Now, for a reader who wants the newest runs. */
  async flush(isLast = false): Promise<void> {
    const { history } = this.#options;
    if (history) await this.#flushSoon(history, isLast);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.flush(true);
  }

  /** One after another. A failure is reported, and the figures go with the next flush. */
  #flushSoon(history: History, isLast: boolean): Promise<void> {
    this.#flushing = this.#flushing.then(async () => {
      try {
        await this.#write(history, isLast);
      } catch (error) {
        this.#options.onTrouble(error);
      }
    });
    return this.#flushing;
  }

  async #write(history: History, isLast: boolean): Promise<void> {
    this.countBytes();
    const now = this.#now();
    const documents = [...this.#groups.flush(now, isLast), ...this.#denied.flush()];
    if (now - this.#announcedAt >= DASHBOARD.announceMs) {
      const node = { name: hostname(), version: VERSION };
      const name = { kind: 'node', namespace: DEFAULT_NAMESPACE, id: this.process, at: now };
      documents.push(documentOf(name, node));
      this.#announcedAt = now;
    }
    await history.put(documents);
    await this.figures.flush(history, isLast);
  }

  /** Adds the bytes up to this moment to the figures. */
  countBytes(): void {
    const { received, sent } = this.#options.bytes();
    if (received === this.#bytes.received && sent === this.#bytes.sent) return;
    const counters = this.figures.of(DEFAULT_NAMESPACE);
    counters.received += received - this.#bytes.received;
    counters.sent += sent - this.#bytes.sent;
    this.#bytes = { received, sent };
  }
}
