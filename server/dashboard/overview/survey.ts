// A survey of the store: what fills it, by namespace and tool, and which keys have two results.
// It reads every result, so one runs at a time, its answer is used for DASHBOARD.countedMs, and a reader waits
// for it only a moment: then the reader gets the earlier answer, or none yet.
import { setTimeout as pause } from 'node:timers/promises';
import { type Namespace, writtenFrom } from '../../../core/namespace.ts';
import { type ListedDivergence, listDivergences } from '../../../store/review/divergences.ts';
import type { Store } from '../../../store/store.ts';
import { DASHBOARD, SERVER } from '../../limits.ts';

export interface NamespaceUsage {
  results: number;
  bytes: number;
  /** By protocol: results and bytes. */
  readonly tools: Map<string, { results: number; bytes: number }>;
  /** By name: results. */
  readonly writers: Map<string, number>;
  lastWriteAt: number | undefined;
}

export interface Surveyed {
  readonly at: number;
  /** By the namespace of the token that writes there. */
  readonly namespaces: ReadonlyMap<Namespace, NamespaceUsage>;
  /** The namespace of each is as the store has it. */
  readonly divergences: readonly ListedDivergence[];
}

const WAIT_MS = 300;
const REST = 'other';
const MAX_NAMES = 1000;

export class Survey {
  readonly #store: Store;
  readonly #now: () => number;
  #last: Surveyed | undefined;
  #running: Promise<void> | undefined;

  constructor(store: Store, now: () => number = Date.now) {
    this.#store = store;
    this.#now = now;
  }

  async read(): Promise<Surveyed | undefined> {
    const isFresh = this.#last !== undefined && this.#now() - this.#last.at < DASHBOARD.countedMs;
    if (isFresh) return this.#last;
    this.#running ??= this.#survey()
      .catch(() => {})
      .finally(() => {
        this.#running = undefined;
      });
    await Promise.race([this.#running, pause(WAIT_MS, undefined, { ref: false })]);
    return this.#last;
  }

  async #survey(): Promise<void> {
    const { review, blobs } = this.#store;
    if (!review) return;
    const namespaces = new Map<Namespace, NamespaceUsage>();
    for await (const { address, result, isRival } of review.results()) {
      if (isRival) continue;
      const owner = writtenFrom(address.namespace);
      const usage = namespaces.get(owner) ?? emptyUsage();
      if (namespaces.size < MAX_NAMES) namespaces.set(owner, usage);
      count(usage, address.namespace, result);
    }
    const divergences: ListedDivergence[] = [];
    const options = { isShown: () => true, withAddresses: false, maxBytes: SERVER.comparedBytes };
    for await (const found of listDivergences(review, blobs, options)) {
      divergences.push(found);
      if (divergences.length >= SERVER.maxListedDivergences) break;
    }
    this.#last = { at: this.#now(), namespaces, divergences };
  }
}

function emptyUsage(): NamespaceUsage {
  return { results: 0, bytes: 0, tools: new Map(), writers: new Map(), lastWriteAt: undefined };
}

function count(
  usage: NamespaceUsage,
  namespace: Namespace,
  { bytes, references, writer }: Parameters<typeof bytesOf>[0],
): void {
  const size = bytesOf({ bytes, references, writer });
  usage.results++;
  usage.bytes += size;
  const tool = toolIn(namespace);
  const ofTool = usage.tools.get(tool) ?? { results: 0, bytes: 0 };
  usage.tools.set(tool, { results: ofTool.results + 1, bytes: ofTool.bytes + size });
  if (!writer) return;
  const name = usage.writers.size < MAX_NAMES || usage.writers.has(writer.name) ? writer.name : REST;
  usage.writers.set(name, (usage.writers.get(name) ?? 0) + 1);
  usage.lastWriteAt = Math.max(usage.lastWriteAt ?? 0, writer.at);
}

function bytesOf({
  bytes,
  references,
}: {
  readonly bytes: Buffer;
  readonly references: readonly { readonly size: number }[];
  readonly writer?: { readonly name: string; readonly at: number } | undefined;
}): number {
  return references.reduce((sum, { size }) => sum + size, bytes.length);
}

/** A tool with opaque keys has its own namespaces; the others share those of the Remote Execution API. */
function toolIn(namespace: Namespace): string {
  return /^~([a-z0-9-]+)/.exec(namespace)?.[1] ?? 'actions (Assay, Bazel and others)';
}
