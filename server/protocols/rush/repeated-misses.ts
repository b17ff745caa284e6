// A memo of the last misses: Rush asks three times, within 8 seconds, before it takes one for a miss.
// Guarantee: it decides what is counted, and nothing else. Its size has a bound.
import { BoundedMap } from '../../../store/shared/bounded-map.ts';
import type { ResultAddress } from '../../../store/store.ts';
import type { ServerContext } from '../../context.ts';
import type { Exchange } from '../../http/exchange.ts';
import { PROTOCOL, SERVER } from '../../limits.ts';

interface Miss {
  readonly at: number;
  asked: number;
}

const ofServer = new WeakMap<ServerContext, RepeatedMisses>();

/** True if the same client has just asked for it, and was told that it is a miss. */
export function isRepeatedMiss({ server, store, request }: Exchange, address: ResultAddress): boolean {
  const known = ofServer.get(server) ?? new RepeatedMisses();
  ofServer.set(server, known);
  const { namespace, key } = store.own(address);
  return known.isRepeated([store.identity.name, request.socket.remoteAddress, namespace, key].join('\0'));
}

export class RepeatedMisses {
  readonly #now: () => number;
  readonly #misses = new BoundedMap<string, Miss>(SERVER.maxRepeatedMisses);

  constructor(now: () => number = performance.now.bind(performance)) {
    this.#now = now;
  }

  /** `name` is that of a miss. The second and third one in a row are repeated. */
  isRepeated(name: string): boolean {
    const now = this.#now();
    const miss = this.#misses.get(name);
    if (miss && now - miss.at < PROTOCOL.repeatedMissMs && miss.asked < PROTOCOL.repeatedMisses) {
      miss.asked++;
      return true;
    }
    this.#misses.set(name, { at: now, asked: 1 });
    return false;
  }
}
