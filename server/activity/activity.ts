// Activity: what the request handlers tell, and the timer that writes it to the store's history.
// Guarantees: no request waits for it or fails because of it, and its memory has a bound. A crash loses what
// happened since the last flush.
//
// A request appends to a list, and many are counted at once, a tenth of a second later at most. That costs a request
// about a third of being counted by itself (docs/decisions/0400). Whoever reads figures, or adds to them, first
// counts what waits.
import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { hostname } from 'node:os';
import { DEFAULT_NAMESPACE, type Namespace, writtenFrom } from '../../core/namespace.ts';
import { VERSION } from '../../core/version.ts';
import type { History } from '../../store/history.ts';
import type { LogEntry } from '../../store/log/write-log.ts';
import type { Identity } from '../access/identity.ts';
import { documentOf } from '../history/documents.ts';
import { DASHBOARD } from '../limits.ts';
import { Callers } from './caller.ts';
import { DeniedWrites } from './denied.ts';
import { Figures } from './figures.ts';
import { addLookup, RequestGroups, type Session } from './groups.ts';
import { PredictedResults } from './predictions.ts';
import { withOtherNodes } from './shared-groups.ts';
import { LiveTail, withoutVersion } from './tail.ts';

export interface ActivityOptions {
  /** Undefined: nothing is kept, and the figures are those of this process. */
  readonly history: History | undefined;
  /** Bytes since the start, of all namespaces together. */
  readonly bytes: () => { readonly received: number; readonly sent: number };
  readonly onTrouble: (error: unknown) => void;
  readonly onLookup?: (tool: string, namespace: Namespace, found: boolean) => void;
  /** A prediction turned out to be a hit. */
  readonly onUsedPrediction?: () => void;
  readonly now?: () => number;
  /** How often counters are written, and an idle group of requests becomes a run. */
  readonly flushMs: number;
}

/** The caller of a request, and the namespace that it names. */
export interface Asked {
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

const PROCESS_BYTES = 5;
/** When a server that was stopped was last seen: it is no node of the fleet any more. */
const GONE = 0;

export class Activity {
  /** Unique among all processes that use the store. */
  readonly process = randomBytes(PROCESS_BYTES).toString('hex');
  readonly #figures: Figures;
  readonly #tail = new LiveTail();
  readonly #callers = new Callers();
  readonly #groups = new RequestGroups(this.process);
  readonly #denied = new DeniedWrites(this.process);
  readonly #predictions: PredictedResults;
  readonly #options: ActivityOptions;
  readonly #now: () => number;
  /** Told, and not counted yet. */
  #lookups: LookedUp[] = [];
  readonly #answered: Namespace[] = new Array(DASHBOARD.countedAtOnce).fill(DEFAULT_NAMESPACE);
  readonly #answeredMs = new Float64Array(DASHBOARD.countedAtOnce);
  #answers = 0;
  /** When the first of them was told. */
  #toldAt = 0;
  #counting: NodeJS.Timeout | undefined;
  #bytes = { received: 0, sent: 0 };
  #timer: NodeJS.Timeout | undefined;
  #announcedAt = Number.NEGATIVE_INFINITY;
  #flushing: Promise<void> = Promise.resolve();

  constructor(options: ActivityOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#figures = new Figures(this.process, this.#now);
    this.#predictions = new PredictedResults((asked) => {
      options.onUsedPrediction?.();
      this.lookedUp({ ...asked, found: true });
    });
  }

  start(): void {
    const { history, flushMs } = this.#options;
    if (!history) return;
    this.#timer = setInterval(() => this.#flushSoon(history, false), flushMs).unref();
  }

  get figures(): Figures {
    this.count();
    return this.#figures;
  }

  get tail(): LiveTail {
    this.count();
    return this.#tail;
  }

  /** A response began after this time. */
  answered(identity: Identity | undefined, isError: boolean, milliseconds: number): void {
    const namespace = identity?.namespace ?? DEFAULT_NAMESPACE;
    if (isError) {
      /* Both in one minute: together with others, the request could count for the minute before. */
      const counters = this.figures.of(namespace);
      counters.errors++;
      counters.answered(milliseconds);
      return;
    }
    if (this.#answers === this.#answered.length) this.count();
    this.#countSoon();
    this.#answered[this.#answers] = namespace;
    this.#answeredMs[this.#answers] = milliseconds;
    this.#answers++;
  }

  lookedUp(lookup: LookedUp): void {
    if (this.#lookups.length === DASHBOARD.countedAtOnce) this.count();
    this.#countSoon();
    this.#lookups.push(lookup);
  }

  #countSoon(): void {
    if (this.#answers + this.#lookups.length > 0) return;
    this.#toldAt = this.#now();
    this.#counting ??= setTimeout(() => {
      this.#counting = undefined;
      this.count();
    }, DASHBOARD.countAfterMs).unref();
  }

  /** Counts what was told until now. */
  count(): void {
    const [lookups, answers, at] = [this.#lookups, this.#answers, this.#toldAt];
    this.#answers = 0;
    if (lookups.length > 0) this.#lookups = [];
    for (const lookup of lookups) this.#countLookup(lookup, at);
    for (let index = 0; index < answers; index++)
      this.#figures.of(this.#answered[index] ?? DEFAULT_NAMESPACE, at).answered(this.#answeredMs[index] ?? 0);
  }

  #countLookup(
    { identity: { name: identity }, headers, protocol, namespace: stored, key, found }: LookedUp,
    at: number,
  ): void {
    const namespace = withoutVersion(stored);
    const caller = this.#callers.of(headers, protocol);
    const { tool } = caller;
    const owner = writtenFrom(namespace);
    const counters = this.#figures.of(owner, at);
    counters.lookedUp(tool, found);
    counters.saw(caller.toolAndProtocol, at);
    this.#options.onLookup?.(tool, owner, found);
    const group = this.#groups.find(caller, owner, { namespace, identity, at });
    const what = found ? 'hit' : 'miss';
    const lookup = { at, tool, what, namespace, identity, key, run: group?.id } as const;
    if (group) addLookup(group, lookup);
    this.#tail.add(lookup);
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
  wrote({ what, identity, protocol, namespace, key }: LogEntry): void {
    if (what !== 'result' || typeof namespace !== 'string' || typeof key !== 'string') return;
    const at = this.#now();
    const stored = {
      at,
      tool: toolOf(protocol),
      what: 'stored',
      namespace: withoutVersion(namespace as Namespace),
      identity,
      key,
      run: undefined,
    } as const;
    this.tail.add(stored);
  }

  denied(identity: Identity | undefined, protocol: string, why: string): void {
    const namespace = identity?.namespace ?? DEFAULT_NAMESPACE;
    this.#denied.add(namespace, this.#now(), { identity: identity?.name ?? '', tool: toolOf(protocol), why });
  }

  /** A tool tells which of its lookups belong to one session, and what its hits saved. */
  toldSession({ identity, headers, protocol, namespace }: Asked, session: Session): void {
    this.count();
    const at = this.#now();
    const owner = writtenFrom(namespace);
    const caller = this.#callers.of(headers, protocol);
    this.#groups.claim(caller, owner, { namespace, identity: identity.name, at }, session);
    const savedMs = session.lookups.reduce((sum, lookup) => sum + lookup.savedMs, 0);
    if (savedMs > 0) this.figures.of(owner, at).savedMs += savedMs;
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
    clearTimeout(this.#counting);
    this.#predictions.close();
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
    this.count();
    this.countBytes();
    const now = this.#now();
    const groups = await withOtherNodes(this.#groups.flush(now, isLast), this.process, history);
    const documents = [...groups, ...this.#denied.flush()];
    if (isLast || now - this.#announcedAt >= DASHBOARD.announceMs) {
      const node = { name: `${hostname()}, process ${process.pid}`, version: VERSION };
      const name = { kind: 'node', namespace: DEFAULT_NAMESPACE, id: this.process, at: isLast ? GONE : now };
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

/** Of a write, of which only the route or the method of gRPC is known. Only Assay has path sets. */
function toolOf(protocol: string): string {
  if (/^path-?sets\b/i.test(protocol)) return 'assay';
  if (protocol === 'ac') return 'http';
  return protocol.includes('.') ? 'grpc' : protocol;
}
