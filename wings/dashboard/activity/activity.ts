// Activity: what an observer of requests remembers for people, and the timer that writes it to the store's history.
// Guarantees: its memory has a bound. A crash loses what happened since the last flush.
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { DEFAULT_NAMESPACE, type Namespace, writtenFrom } from '../../../core/namespace.ts';
import { VERSION } from '../../../core/version.ts';
import type { Identity } from '../../../server/access/identity.ts';
import { documentOf } from '../../../server/history/documents.ts';
import { withoutVersion } from '../../../server/request/named-namespace.ts';
import type {
  CountedLookup,
  LeaseEvent,
  Observer,
  Place,
  Session,
} from '../../../server/request/observer.ts';
import type { History } from '../../../store/history.ts';
import type { LogEntry } from '../../../store/log/write-log.ts';
import { DASHBOARD } from '../limits.ts';
import { DeniedWrites } from './denied.ts';
import { ActivityFigures } from './figures.ts';
import { addLookup, RequestGroups } from './groups.ts';
import { withOtherNodes } from './shared-groups.ts';
import { LiveTail } from './tail.ts';

interface ActivityOptions {
  /** Undefined: nothing is kept, and the figures are those of this process. */
  readonly history: History | undefined;
  /** Bytes since the start, of all namespaces together. */
  readonly bytes: () => { readonly received: number; readonly sent: number };
  /** Lets the accounting tell what waits. Whoever reads figures, or adds to them, calls this first. */
  readonly count: () => void;
  readonly onTrouble: (error: unknown) => void;
  readonly now?: () => number;
  /** How often counters are written, and an idle group of requests becomes a run. */
  readonly flushMs: number;
}

const PROCESS_BYTES = 5;
/** When a server that was stopped was last seen: it is no node of the fleet any more. */
const GONE = 0;

export class Activity implements Observer {
  /** Unique among all processes that use the store. */
  readonly process = randomBytes(PROCESS_BYTES).toString('hex');
  readonly #figures: ActivityFigures;
  readonly #tail = new LiveTail();
  readonly #groups = new RequestGroups(this.process);
  readonly #denied = new DeniedWrites(this.process);
  readonly #options: ActivityOptions;
  readonly #now: () => number;
  #bytes = { received: 0, sent: 0 };
  #timer: NodeJS.Timeout | undefined;
  #announcedAt = Number.NEGATIVE_INFINITY;
  #flushing: Promise<void> = Promise.resolve();

  constructor(options: ActivityOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#figures = new ActivityFigures(this.process, this.#now);
  }

  start(): void {
    const { history, flushMs } = this.#options;
    if (!history) return;
    this.#timer = setInterval(() => this.#flushSoon(history, false), flushMs).unref();
  }

  get figures(): ActivityFigures {
    this.#options.count();
    return this.#figures;
  }

  get tail(): LiveTail {
    this.#options.count();
    return this.#tail;
  }

  answered(namespace: Namespace, isError: boolean, milliseconds: number, at: number): void {
    const counters = this.#figures.of(namespace, at);
    if (isError) counters.errors++;
    counters.answered(milliseconds);
  }

  lookedUp({ at, caller, identity, namespace, owner, key, found }: CountedLookup): void {
    const { tool } = caller;
    const counters = this.#figures.of(owner, at);
    counters.lookedUp(tool, found);
    counters.saw(caller.toolAndProtocol, at);
    const group = this.#groups.find(caller, owner, { namespace, identity, at });
    const what = found ? 'hit' : 'miss';
    const lookup = { at, tool, what, namespace, identity, key, run: group?.id } as const;
    if (group) addLookup(group, lookup);
    this.#tail.add(lookup);
  }

  wrote({ what, identity, protocol, namespace, key }: LogEntry): void {
    if (what !== 'result' || typeof namespace !== 'string' || typeof key !== 'string') return;
    this.#tail.add({
      at: this.#now(),
      tool: toolOf(protocol),
      what: 'stored',
      namespace: withoutVersion(namespace as Namespace),
      identity,
      key,
      run: undefined,
    });
  }

  denied(identity: Identity | undefined, protocol: string, why: string): void {
    const namespace = identity?.namespace ?? DEFAULT_NAMESPACE;
    this.#denied.add(namespace, this.#now(), { identity: identity?.name ?? '', tool: toolOf(protocol), why });
  }

  toldSession({ at, caller, identity, namespace, owner }: Place, session: Session): void {
    this.#groups.claim(caller, owner, { namespace, identity, at }, session);
    const savedMs = session.lookups.reduce((sum, lookup) => sum + lookup.savedMs, 0);
    if (savedMs > 0) this.#figures.of(owner, at).savedMs += savedMs;
  }

  leased(namespace: Namespace, { what, savedMs }: LeaseEvent, at: number): void {
    const { leases } = this.#figures.of(namespace, at);
    leases[what]++;
    leases.savedMs += savedMs;
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
    this.#options.count();
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
