// Sums of reported runs, by period and namespace, as documents of the history. A page reads one document for each period
// instead of every run.
//
// Invariants:
// M1 The sums of a run are stored in the same commit as the run.
// M2 A document belongs to one process, which writes its documents one after another. So several processes on one
//    store add up, and none overwrites the sums of another.
// M3 A document has a bound: the sums halve themselves until they fit.

import { randomBytes } from 'node:crypto';
import type { Namespace } from '../../core/namespace.ts';
import { documentOf } from '../../server/history/documents.ts';
import type { HistoryDocument } from '../../store/history.ts';
import { STORE } from '../../store/limits.ts';
import { BoundedMap } from '../../store/shared/bounded-map.ts';

/** A run has a namespace and a time. */
export interface Placed {
  readonly namespace: Namespace;
  readonly at: number;
}

export interface Sums<Run> {
  addRun(run: Run): void;
  removeRun(run: Run): void;
  /** Gives up details, so that it has half as many. */
  halve(): void;
  stored(): object;
}

interface Periods<S> {
  /** Of the documents. */
  readonly kind: string;
  /** The begin of the period in which a time lies. */
  startOf(at: number): number;
  sums(): S;
  /** Periods in memory. One that comes again after that gets another document. */
  readonly most: number;
}

const ID_BYTES = 8;

/** The sums of this process. */
export class PeriodSums<Run extends Placed, S extends Sums<Run>> {
  readonly #of: Periods<S>;
  readonly #periods: BoundedMap<string, Period<S>>;

  constructor(of: Periods<S>) {
    this.#of = of;
    this.#periods = new BoundedMap(of.most);
  }

  /** Adds a run. The document has the sums with it. */
  add(run: Run): HistoryDocument {
    return this.change(run, (sums) => sums.addRun(run));
  }

  /** Takes back a run that could not be stored. The next document of the period is right again. */
  remove(run: Run): void {
    this.#periodOf(run).sums.removeRun(run);
  }

  /** Changes the sums of the period of a run. */
  change(run: Placed, how: (sums: S) => void): HistoryDocument {
    const period = this.#periodOf(run);
    how(period.sums);
    return this.#documentOf(period);
  }

  #periodOf({ namespace, at }: Placed): Period<S> {
    const start = this.#of.startOf(at);
    const name = `${start}\0${namespace}`;
    const period = this.#periods.get(name) ?? {
      namespace,
      start,
      id: randomBytes(ID_BYTES).toString('hex'),
      sums: this.#of.sums(),
    };
    this.#periods.set(name, period);
    return period;
  }

  #documentOf({ namespace, start, id, sums }: Period<S>): HistoryDocument {
    for (;;) {
      const document = documentOf({ kind: this.#of.kind, namespace, id, at: start }, sums.stored());
      if (document.bytes.length <= STORE.historyDocumentBytes) return document;
      sums.halve();
    }
  }
}

interface Period<S> {
  readonly namespace: Namespace;
  readonly start: number;
  readonly id: string;
  readonly sums: S;
}

/** A list of texts, each once. A document has the index of a text instead of the text. */
export class Names {
  readonly list: string[] = [];
  readonly #indexes = new Map<string, number>();

  indexOf(name: string): number {
    const known = this.#indexes.get(name);
    if (known !== undefined) return known;
    this.#indexes.set(name, this.list.length);
    return this.list.push(name) - 1;
  }
}
