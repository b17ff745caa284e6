// A scan of the age rows for the entries that a step may remove, least recently used first.
//
// It remembers how far no row was wanted. A row that is added or moved lies at a tick whose leases are valid, and
// a scan never passes such a tick. But a blob that gets one more holder keeps its old row, which may be passed
// already. So no blob is left only after a pass from the first row on has found none.
import type { Age } from '../index/records.ts';

interface AgeRow {
  readonly key: Buffer;
  readonly age: Age;
}

/** At most that many rows of a kind, after a row or from the first on. */
type Rows = (after: Buffer | undefined, most: number) => readonly AgeRow[];

export interface WantedAges {
  readonly rows: Rows;
  readonly isWanted: (age: Age) => boolean;
  /** No row with a later tick is looked at. */
  readonly lastTick: number;
  /** How many rows are read at once, and no more than how many in one call. */
  readonly pageRows: number;
  readonly mostRows: number;
}

export class AgeScan {
  readonly #isRepeated: boolean;
  #passed: Buffer | undefined;
  #isWholePass = true;

  /** `isRepeated`: for blobs that may get holders. */
  constructor(isRepeated: boolean) {
    this.#isRepeated = isRepeated;
  }

  /** Undefined if the next call may find more: this one has looked at as many rows as it may. */
  find(wanted: WantedAges, most: number): readonly Age[] | undefined {
    const found: Age[] = [];
    const pageRows = Math.max(most, wanted.pageRows);
    let after = this.#passed;
    for (let seen = 0; seen < wanted.mostRows; seen += pageRows) {
      const page = wanted.rows(after, pageRows);
      for (const { key, age } of page) {
        if (age.tick > wanted.lastTick || found.length === most) return this.#ended(found);
        if (wanted.isWanted(age)) found.push(age);
        else if (found.length === 0) this.#passed = key;
        after = key;
      }
      if (page.length < pageRows) return this.#ended(found);
    }
    return found.length > 0 ? this.#ended(found) : undefined;
  }

  #ended(found: readonly Age[]): readonly Age[] | undefined {
    if (!this.#isRepeated) return found;
    const isWholePass = this.#isWholePass;
    this.#isWholePass = found.length === 0;
    if (found.length > 0) return found;
    this.#passed = undefined;
    return isWholePass ? found : undefined;
  }
}
