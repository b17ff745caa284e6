// The live tail: the newest lookups and writes of results on this process, in a ring.
// An event is filed under the namespace of the token that caused it, and shown to those who may read that.
import { type Namespace, writtenFrom } from '../../core/namespace.ts';
import type { Tail, TailEvent } from '../dashboard/api/types.ts';
import { DASHBOARD } from '../limits.ts';
import { Ring } from './ring.ts';

/** As it happens. Its texts are made when somebody looks. */
export interface Happening {
  readonly at: number;
  readonly tool: string;
  readonly what: TailEvent['what'];
  /** As the store has it. */
  readonly namespace: Namespace;
  readonly identity: string;
  readonly key: string;
  readonly run: string | undefined;
}

export class LiveTail {
  readonly #process: string;
  readonly #events = new Ring<Happening>(DASHBOARD.tailEvents);

  constructor(process: string) {
    this.#process = process;
  }

  add(happening: Happening): void {
    this.#events.add(happening);
  }

  /** `after`: the position of an earlier answer. What was overwritten meanwhile is left out. */
  read(namespaces: readonly Namespace[] | undefined, after?: string): Tail {
    const [process, number] = after?.split('.') ?? [];
    const { count } = this.#events;
    const seen = process === this.#process ? Number(number) || 0 : 0;
    const events: TailEvent[] = [];
    for (const happening of this.#events.newest(Math.max(0, Math.min(seen, count))))
      if (isIn(happening.namespace, namespaces)) events.push(eventOf(happening));
    return { events, position: `${this.#process}.${count}` };
  }
}

export function eventOf({ at, namespace, run, ...rest }: Happening): TailEvent {
  const shown = shownNamespace(namespace);
  return { ...rest, at: new Date(at).toISOString(), namespace: shown, ...(run !== undefined && { run }) };
}

/** As a person knows it. */
export function shownNamespace(stored: Namespace): string {
  return stored.replaceAll('/=/', '/').replace(/^~[^/]*\/?/, '');
}

function isIn(namespace: Namespace, namespaces: readonly Namespace[] | undefined): boolean {
  return namespaces === undefined || namespaces.includes(writtenFrom(namespace));
}
