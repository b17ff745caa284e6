// Denied writes: who was refused what, for the page about trust. They are kept in the history, at most
// DASHBOARD.waitingDenied for each flush: a client that is refused in a loop must not fill the store.

import type { Namespace } from '../../../core/namespace.ts';
import { documentOf } from '../../../server/history/documents.ts';
import type { HistoryDocument } from '../../../store/history.ts';
import type { DeniedWrite } from '../api/schemas/storage.ts';
import { DASHBOARD } from '../limits.ts';

export class DeniedWrites {
  readonly #process: string;
  #count = 0;
  #waiting: HistoryDocument[] = [];

  constructor(process: string) {
    this.#process = process;
  }

  add(namespace: Namespace, at: number, denied: Omit<DeniedWrite, 'at'>): void {
    if (this.#waiting.length >= DASHBOARD.waitingDenied) return;
    const id = `${this.#process}-${at}-${this.#count++}`;
    const value: DeniedWrite = { at: new Date(at).toISOString(), ...denied };
    this.#waiting.push(documentOf({ kind: 'denied', namespace, id, at }, value));
  }

  flush(): HistoryDocument[] {
    const documents = this.#waiting;
    this.#waiting = [];
    return documents;
  }
}
