// The live tail: the newest lookups and writes of results on this process, in a ring.
// An event is filed under the namespace of the token that caused it, and shown to those who may read that.
import { type Namespace, writtenFrom } from '../../core/namespace.ts';
import type { Tail, TailEvent } from '../dashboard/api/types.ts';
import { DASHBOARD } from '../limits.ts';

/** As it happens. Its texts are made when somebody looks. */
export interface Happening {
  readonly at: number;
  readonly tool: string;
  readonly what: TailEvent['what'];
  /** As the store has it. */
  readonly namespace: Namespace;
  readonly identity: string;
  readonly key: string;
  readonly run?: string | undefined;
}

export class LiveTail {
  readonly #process: string;
  readonly #ring: Happening[] = [];
  /** Of all that ever happened. */
  #count = 0;

  constructor(process: string) {
    this.#process = process;
  }

  add(happening: Happening): void {
    this.#ring[this.#count++ % DASHBOARD.tailEvents] = happening;
  }

  /** `after`: the position of an earlier answer. What was overwritten meanwhile is left out. */
  read(namespaces: readonly Namespace[] | undefined, after?: string): Tail {
    const [process, number] = after?.split('.') ?? [];
    const seen = process === this.#process ? Number(number) || 0 : 0;
    const first = Math.max(0, this.#count - DASHBOARD.tailEvents, Math.min(seen, this.#count));
    const events: TailEvent[] = [];
    for (let at = this.#count - 1; at >= first; at--) {
      const happening = this.#ring[at % DASHBOARD.tailEvents];
      if (happening && isIn(happening.namespace, namespaces)) events.push(eventOf(happening));
    }
    return { events, position: `${this.#process}.${this.#count}` };
  }
}

export function eventOf({ at, namespace, run, ...rest }: Happening): TailEvent {
  const shown = namespace.replaceAll('/=/', '/').replace(/^~[^/]*\/?/, '');
  return { ...rest, at: new Date(at).toISOString(), namespace: shown, ...(run !== undefined && { run }) };
}

function isIn(namespace: Namespace, namespaces: readonly Namespace[] | undefined): boolean {
  return namespaces === undefined || namespaces.includes(writtenFrom(namespace));
}
