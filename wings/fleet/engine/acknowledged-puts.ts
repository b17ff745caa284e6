// What this node has acknowledged lately, to count what a failover of PostgreSQL forgets. Behind an asynchronous
// standby the last puts are misses afterwards; this tells an operator how many.
//
// Guarantees:
// A1 Counts only what was acknowledged within `keepMs`, which is less than a lease: eviction explains none of it. What
//    this node has removed itself does not count.
// A2 PostgreSQL is asked before any other statement of this node (database.ts, D6), and each entry counts once.
// Not guaranteed: what another node has put again meanwhile is not counted, and what another node has removed is.
import type { Hash } from '../../../core/digest.ts';
import type { Namespace } from '../../../core/namespace.ts';
import type { OnStoreEvent } from '../../../store/events.ts';
import type { ResultAddress } from '../../../store/store.ts';
import { FLEET } from '../limits.ts';
import { hashArray, type Queries, type Statement } from './index/database.ts';

const ABSENT_BLOBS: Statement = {
  name: 'acknowledged blobs',
  text: `
    SELECT count(*) AS n FROM unnest($1::bytea[]) AS a(hash)
    WHERE NOT EXISTS (SELECT FROM assay.presence p WHERE p.hash = a.hash)`,
};

const ABSENT_RESULTS: Statement = {
  name: 'acknowledged results',
  text: `
    SELECT count(*) AS n FROM unnest($1::text[], $2::bytea[]) AS a(namespace, key)
    WHERE NOT EXISTS (SELECT FROM assay.result r WHERE r.namespace = a.namespace AND r.key = a.key)`,
};

export class AcknowledgedPuts {
  readonly #now: () => number;
  readonly #keepMs: () => number;
  readonly #onEvent: OnStoreEvent;
  /** When it was acknowledged. The oldest comes first. */
  readonly #blobs = new Map<Hash, number>();
  readonly #results = new Map<string, ResultAddress & { readonly at: number }>();

  constructor(now: () => number, keepMs: () => number, onEvent: OnStoreEvent) {
    this.#now = now;
    this.#keepMs = keepMs;
    this.#onEvent = onEvent;
  }

  addBlob(hash: Hash): void {
    this.#blobs.delete(hash);
    this.#blobs.set(hash, this.#now());
    limit(this.#blobs);
  }

  addResult({ namespace, key }: ResultAddress): void {
    const name = nameOf(namespace, key);
    this.#results.delete(name);
    this.#results.set(name, { namespace, key, at: this.#now() });
    limit(this.#results);
  }

  removeBlob(hash: Hash): void {
    this.#blobs.delete(hash);
  }

  removeResult({ namespace, key }: ResultAddress): void {
    this.#results.delete(nameOf(namespace, key));
  }

  /** Reports what is gone since PostgreSQL was lost. */
  async greet(queries: Queries): Promise<void> {
    const since = this.#now() - this.#keepMs();
    const blobs = [...this.#blobs].filter(([, at]) => at > since).map(([hash]) => hash);
    const results = [...this.#results.values()].filter(({ at }) => at > since);
    const count = async (statement: Statement, values: readonly unknown[]): Promise<number> =>
      (await queries.query<{ n: number }>(statement, values))[0]?.n ?? 0;
    const forgotten = {
      blobs: blobs.length > 0 ? await count(ABSENT_BLOBS, [hashArray(blobs)]) : 0,
      results:
        results.length > 0
          ? await count(ABSENT_RESULTS, [
              results.map(({ namespace }) => namespace),
              hashArray(results.map(({ key }) => key)),
            ])
          : 0,
    };
    this.#blobs.clear();
    this.#results.clear();
    if (forgotten.blobs + forgotten.results > 0) this.#onEvent({ type: 'forgotten', ...forgotten });
  }
}

function nameOf(namespace: Namespace, key: Hash): string {
  return `${namespace}\0${key}`;
}

function limit(entries: Map<string, unknown>): void {
  if (entries.size > FLEET.acknowledgedPuts)
    for (const oldest of entries.keys().take(1)) entries.delete(oldest);
}
