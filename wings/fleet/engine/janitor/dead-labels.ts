// Dead labels: those whose result is gone, or never came. They lead to nothing, so they go before anything else does.
// Guarantee: a label whose result is stored stays. A look at very many labels that all lead to results takes
// FLEET.deadLabelsMs at most: the next one goes on from there, and the eviction of others does not wait.
import { FLEET } from '../../limits.ts';
import type { Queries, Statement } from '../index/database.ts';
import { labelInIndex, labelsHeld } from '../index/held-bytes.ts';

const REMOVE: Statement = {
  name: 'dead labels',
  text: `
    WITH page AS (
        SELECT namespace, label, key FROM assay.label
        WHERE (namespace, label) > ($1, $2) ORDER BY namespace, label LIMIT ${FLEET.janitorRows}
      ),
      gone AS (
        DELETE FROM assay.label l USING page p
        WHERE l.namespace = p.namespace AND l.label = p.label AND l.key = p.key
          AND NOT EXISTS (SELECT FROM assay.result r WHERE r.namespace = p.namespace AND r.key = p.key)
        RETURNING l.holder, ${labelInIndex('l')} AS bytes
      ),
      counted AS (
        UPDATE assay.usage u SET label_bytes = u.label_bytes - g.bytes
        FROM (SELECT sum(bytes)::int8 AS bytes FROM gone HAVING count(*) > 0) g WHERE u.shard = 0
      ),
      held AS (${labelsHeld('(SELECT holder, -bytes AS bytes FROM gone) AS less', '0::int2')})
    SELECT namespace, label, (SELECT coalesce(sum(bytes), 0)::int8 FROM gone) AS bytes
    FROM page ORDER BY namespace DESC, label DESC LIMIT 1`,
};

interface Page {
  readonly namespace: string;
  readonly label: Buffer;
  /** Of the labels that were removed. */
  readonly bytes: number;
}

const FIRST: Omit<Page, 'bytes'> = { namespace: '', label: Buffer.alloc(0) };

export class DeadLabels {
  readonly #now: () => number;
  #last = FIRST;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Returns how many bytes of PostgreSQL they had. `isStopped` is asked after each page. */
  async remove(queries: Queries, isStopped: () => boolean): Promise<number> {
    const until = this.#now() + FLEET.deadLabelsMs;
    let bytes = 0;
    while (!isStopped()) {
      const [page] = await queries.query<Page>(REMOVE, [this.#last.namespace, this.#last.label]);
      this.#last = page ?? FIRST;
      bytes += page?.bytes ?? 0;
      if (!page || (page.bytes === 0 && this.#now() >= until)) break;
    }
    return bytes;
  }
}
