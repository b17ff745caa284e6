// The live tail: the newest lookups and writes of results on this process, in a ring.
// An event is filed under the namespace of the token that caused it, and shown to those who may read that.
import { randomUUID } from 'node:crypto';
import { isInRange, type Namespace, type NamespaceRange, writtenFrom } from '../../../core/namespace.ts';
import type { Tail } from '../api/schemas/now.ts';
import type { TailEvent } from '../api/schemas/parts.ts';
import { DASHBOARD } from '../limits.ts';
import { Ring } from './ring.ts';

/** A lookup or a write of a result, as the server sees it. Its texts are made when a page shows it. */
export interface CacheEvent {
  readonly at: number;
  readonly tool: string;
  readonly what: TailEvent['what'];
  /** As the store has it. */
  readonly namespace: Namespace;
  readonly identity: string;
  readonly key: string;
  readonly run: string | undefined;
}

/** Of a reader who has seen no event. */
const BEGINNING = 'beginning';

export class LiveTail {
  readonly #events = new Ring<CacheEvent>(DASHBOARD.tailEvents);
  /** The position of each event that was the newest one of an answer. */
  readonly #positions = new WeakMap<CacheEvent, string>();

  add(event: CacheEvent): void {
    this.#events.add(event);
  }

  /**
   * `after`: the position of an earlier answer. What was overwritten meanwhile is left out. A position is random,
   * and that of an event that the reader sees: a number would tell how many events others caused.
   */
  read(namespaces: NamespaceRange, after = BEGINNING): Tail {
    const found: CacheEvent[] = [];
    for (const one of this.#events.newest()) {
      if (this.#positions.get(one) === after) break;
      if (isInRange(writtenFrom(one.namespace), namespaces)) found.push(one);
    }
    const [newest] = found;
    return { events: found.map(eventOf), position: newest ? this.#positionOf(newest) : after };
  }

  #positionOf(event: CacheEvent): string {
    const position = this.#positions.get(event) ?? randomUUID();
    this.#positions.set(event, position);
    return position;
  }
}

export function eventOf({ at, namespace, run, ...rest }: CacheEvent): TailEvent {
  const shown = shownNamespace(namespace);
  return { ...rest, at: new Date(at).toISOString(), namespace: shown, ...(run !== undefined && { run }) };
}

/** As a person knows it. */
export function shownNamespace(stored: Namespace): string {
  return stored.replaceAll('/=/', '/').replace(/^~[^/]*\/?/, '');
}
