// The walk over all results and labels of a fleet that gives each its holder, and the holder of a result to all blobs
// that it names.
// It makes H1 true for what was stored before the accounts were set, and mends what other versions have stored since.

import type { Hash } from '../../../../core/digest.ts';
import { FLEET } from '../../limits.ts';
import { numberArray, type Queries, type Statement } from '../index/database.ts';
import { holdersOfResult, labelInIndex, labelsHeld, resultInIndex, takenOut } from '../index/held-bytes.ts';
import type { FleetAccounts, FleetHolder } from './accounts.ts';
import { hold } from './holding.ts';

const PAGE: Statement = {
  name: 'walk page',
  text: `
    SELECT namespace, key, id, hashes FROM assay.result
    WHERE (namespace, key) > ($1, $2) ORDER BY namespace, key LIMIT ${FLEET.walkedRows}`,
};

const SET: Statement = {
  name: 'walk set',
  text: `
    WITH old AS (
        SELECT r.id, r.age AS was, ${resultInIndex('r')} AS index, ${holdersOfResult('r')} AS holders
        FROM assay.result r WHERE r.id = ANY ($1::int8[]) AND r.holder IS DISTINCT FROM $2::int FOR UPDATE
      ),
      changed AS (UPDATE assay.result r SET holder = $2::int FROM old WHERE r.id = old.id),
      left_behind AS (
        SELECT 0 AS bucket, index, was, NULL::int8 AS stays, holders FROM old
        UNION ALL SELECT 0, -index, was, NULL::int8, ARRAY[$2::int] FROM old
      ),
      uncounted AS (${takenOut('left_behind')})
    SELECT id FROM old`,
};

const LABELS_PAGE: Statement = {
  name: 'walk labels',
  text: `
    SELECT namespace, label FROM assay.label
    WHERE (namespace, label) > ($1, $2) ORDER BY namespace, label LIMIT ${FLEET.walkedRows}`,
};

/** `$1` the namespace, `$2` the first and `$3` the last label, `$4` the holder. */
const SET_LABELS: Statement = {
  name: 'walk set labels',
  text: `
    WITH old AS (
        SELECT l.namespace, l.label, l.holder, ${labelInIndex('l')} AS bytes FROM assay.label l
        WHERE l.namespace = $1 AND l.label >= $2 AND l.label <= $3 AND l.holder IS DISTINCT FROM $4::int FOR UPDATE
      ),
      changed AS (
        UPDATE assay.label l SET holder = $4::int FROM old WHERE l.namespace = old.namespace AND l.label = old.label
      ),
      moved AS (
        SELECT holder, -bytes AS bytes FROM old UNION ALL SELECT $4::int, bytes FROM old
      ),
      held AS (${labelsHeld('moved', '0::int2')})
    SELECT label FROM old`,
};

interface LabelRow {
  readonly namespace: string;
  readonly label: Buffer;
}

interface PageRow {
  readonly namespace: string;
  readonly key: Buffer;
  readonly id: number;
  readonly hashes: Hash[];
}

export class HolderWalk {
  readonly #accounts: FleetAccounts;
  #last: Pick<PageRow, 'namespace' | 'key'> = { namespace: '', key: Buffer.alloc(0) };
  #lastLabel: LabelRow = { namespace: '', label: Buffer.alloc(0) };

  constructor(accounts: FleetAccounts) {
    this.#accounts = accounts;
  }

  /** One page of each. False after the last. */
  async step(queries: Queries): Promise<boolean> {
    const isMore = await this.#walkLabels(queries);
    return (await this.#walkResults(queries)) || isMore;
  }

  async #walkLabels(queries: Queries): Promise<boolean> {
    const rows = await queries.query<LabelRow>(LABELS_PAGE, [
      this.#lastLabel.namespace,
      this.#lastLabel.label,
    ]);
    for (const [namespace, labels] of Map.groupBy(rows, (row) => row.namespace)) {
      const holder = this.#accounts.holderOf(namespace);
      const [first, last] = [labels[0]?.label, labels.at(-1)?.label];
      if (holder)
        await queries.query(SET_LABELS, [
          namespace,
          first,
          last,
          (await this.#accounts.numbersOf(holder)).own,
        ]);
    }
    this.#lastLabel = rows.at(-1) ?? this.#lastLabel;
    return rows.length > 0;
  }

  async #walkResults(queries: Queries): Promise<boolean> {
    const rows = await queries.query<PageRow>(PAGE, [this.#last.namespace, this.#last.key]);
    const byHolder = Map.groupBy(rows, ({ namespace }) => this.#accounts.holderOf(namespace));
    for (const [holder, results] of byHolder) if (holder) await this.#give(queries, holder, results);
    this.#last = rows.at(-1) ?? this.#last;
    return rows.length > 0;
  }

  async #give(queries: Queries, holder: FleetHolder, results: readonly PageRow[]): Promise<void> {
    const numbers = await this.#accounts.numbersOf(holder);
    await queries.query(SET, [numberArray(results.map(({ id }) => id)), numbers.own]);
    await hold(queries, [...new Set(results.flatMap(({ hashes }) => hashes))], numbers);
  }
}
