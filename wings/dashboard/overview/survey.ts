// A survey of the store: what fills it, by namespace and tool, and which keys have two results.
//
// It reads every result. So one runs at a time, it rests three times as long as it works, and its answer is used for
// DASHBOARD.countedMs or DASHBOARD.surveyRest times its own duration. The answer is kept in the history: it survives a restart,
// and all nodes of a fleet show the same one. A reader waits only a moment for the first survey: then it gets none.
import { setTimeout as pause } from 'node:timers/promises';
import { DEFAULT_NAMESPACE, type Namespace, writtenFrom } from '../../../core/namespace.ts';
import { contentOf, documentOf } from '../../../server/history/documents.ts';
import { SERVER } from '../../../server/limits.ts';
import { STORE } from '../../../store/limits.ts';
import { type ListedDivergence, listDivergences } from '../../../store/review/divergences.ts';
import type { Review, Store, StoredResult } from '../../../store/store.ts';
import { DASHBOARD } from '../limits.ts';

interface Usage {
  results: number;
  bytes: number;
}

export interface NamespaceUsage extends Usage {
  /** By protocol. */
  readonly tools: readonly (readonly [string, Usage])[];
  /** Names with the number of their results, the busiest first. */
  readonly writers: readonly (readonly [string, number])[];
  readonly lastWriteAt?: number;
}

export interface Surveyed {
  readonly at: number;
  readonly tookMs: number;
  /** By the namespace of the token that writes there. */
  readonly namespaces: readonly (readonly [Namespace, NamespaceUsage])[];
  /** The namespace of each is as the store has it. */
  readonly divergences: readonly ListedDivergence[];
}

const NAME = { kind: 'survey', id: 'newest', namespace: DEFAULT_NAMESPACE };
const REST = 'other';

export class Survey {
  readonly #store: Store;
  readonly #now: () => number;
  #last: Surveyed | undefined;
  #running: Promise<void> | undefined;

  constructor(store: Store, now: () => number = Date.now) {
    this.#store = store;
    this.#now = now;
  }

  /** The newest answer, which may be a little old. Undefined if there is none yet. */
  async read(waitMs: number = DASHBOARD.surveyWaitMs): Promise<Surveyed | undefined> {
    if (!this.#isFresh()) await this.#readStored();
    if (this.#isFresh()) return this.#last;
    this.#running ??= this.#survey()
      .catch(() => {})
      .finally(() => {
        this.#running = undefined;
      });
    if (!this.#last) await Promise.race([this.#running, pause(waitMs, undefined, { ref: false })]);
    return this.#last;
  }

  #isFresh(): boolean {
    if (!this.#last) return false;
    const { at, tookMs } = this.#last;
    return this.#now() - at < Math.max(DASHBOARD.countedMs, DASHBOARD.surveyRest * tookMs);
  }

  /** Of another node, or of this one before its restart. */
  async #readStored(): Promise<void> {
    const { kind, id, namespace } = NAME;
    const document = await this.#store.history?.get(kind, id, [namespace]);
    if (document && document.at > (this.#last?.at ?? 0)) this.#last = contentOf<Surveyed>(document);
  }

  async #survey(): Promise<void> {
    const { review, history } = this.#store;
    if (!review) return;
    const began = this.#now();
    const turns = new Turns();
    const counts = new Counts();
    for await (const { address, result, isRival } of review.results()) {
      if (isRival) counts.rivals++;
      else counts.add(address.namespace, result);
      await turns.yield();
    }
    const divergences = counts.rivals === 0 ? [] : await this.#divergences(review, turns);
    const at = this.#now();
    const found = { at, tookMs: at - began, namespaces: counts.found(), divergences };
    const document = documentOf({ ...NAME, at }, found);
    this.#last = found;
    if (document.bytes.length <= STORE.historyDocumentBytes) await history?.put([document]);
  }

  async #divergences(review: Review, turns: Turns): Promise<ListedDivergence[]> {
    const divergences: ListedDivergence[] = [];
    const options = { isShown: () => true, withAddresses: false, maxBytes: SERVER.comparedBytes };
    for await (const found of listDivergences(review, this.#store.blobs, options)) {
      divergences.push(found);
      if (divergences.length >= SERVER.maxListedDivergences) break;
      await turns.yield();
    }
    return divergences;
  }
}

/** Divides a long walk into turns. A disk store answers without waiting, so nothing else would run meanwhile. */
class Turns {
  #began = performance.now();

  async yield(): Promise<void> {
    const took = performance.now() - this.#began;
    if (took < DASHBOARD.surveyTurnMs) return;
    await pause(DASHBOARD.surveyPauseFactor * took, undefined, { ref: false });
    this.#began = performance.now();
  }
}

interface Counting extends Usage {
  readonly tools: Map<string, Usage>;
  readonly writers: Map<string, number>;
  lastWriteAt: number;
}

class Counts {
  rivals = 0;
  readonly #namespaces = new Map<Namespace, Counting>();

  add(namespace: Namespace, { bytes, references, writer }: StoredResult): void {
    const owner = writtenFrom(namespace);
    const usage = this.#namespaces.get(owner) ?? newCounting();
    if (this.#namespaces.size < DASHBOARD.surveyNames) this.#namespaces.set(owner, usage);
    const size = references.reduce((sum, { size: one }) => sum + one, bytes.length);
    const tool = toolIn(namespace);
    const ofTool = usage.tools.get(tool) ?? { results: 0, bytes: 0 };
    usage.tools.set(tool, ofTool);
    for (const sum of [usage, ofTool]) {
      sum.results++;
      sum.bytes += size;
    }
    if (!writer) return;
    const name =
      usage.writers.size < DASHBOARD.surveyNames || usage.writers.has(writer.name) ? writer.name : REST;
    usage.writers.set(name, (usage.writers.get(name) ?? 0) + 1);
    usage.lastWriteAt = Math.max(usage.lastWriteAt, writer.at);
  }

  found(): (readonly [Namespace, NamespaceUsage])[] {
    return [...this.#namespaces].map(([namespace, { tools, writers, lastWriteAt, results, bytes }]) => {
      const busiest = [...writers].sort((a, b) => b[1] - a[1]).slice(0, DASHBOARD.surveyWriters);
      const lastWrite = lastWriteAt > 0 ? { lastWriteAt } : {};
      return [namespace, { results, bytes, tools: [...tools], writers: busiest, ...lastWrite }] as const;
    });
  }
}

function newCounting(): Counting {
  return { results: 0, bytes: 0, tools: new Map(), writers: new Map(), lastWriteAt: 0 };
}

/** A tool with opaque keys has its own namespaces; the others share those of the Remote Execution API. */
function toolIn(namespace: Namespace): string {
  const [, protocol] = /^~([a-z0-9-]+)/.exec(namespace) ?? [];
  if (protocol === 'path-sets') return 'path sets (Assay)';
  return protocol ?? 'actions (Assay, Bazel and others)';
}
