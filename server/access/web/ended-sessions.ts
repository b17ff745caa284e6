// The sessions of browsers that were closed, until they would have ended by themselves.
// Guarantee: what the store keeps holds for every server on it, at once and after a restart.
import { DEFAULT_NAMESPACE } from '../../../core/namespace.ts';
import type { History } from '../../../store/history.ts';

export interface EndedSessions {
  add(id: string, expiresAt: number): Promise<void>;
  has(id: string): Promise<boolean>;
}

const KIND = 'ended-session';

/**
 * The time of a document is the end of its session: retention removes it then. A server that may not write to its store
 * knows what the others wrote; logging out there removes the cookie from the browser, and no more.
 */
export function endedSessions(history: History | undefined, isReadOnly: boolean): EndedSessions {
  return {
    async add(id, expiresAt) {
      const document = {
        kind: KIND,
        namespace: DEFAULT_NAMESPACE,
        id,
        at: expiresAt,
        bytes: Buffer.alloc(0),
      };
      if (!isReadOnly) await history?.add(document);
    },
    has: async (id) => (await history?.get(KIND, id, [DEFAULT_NAMESPACE])) !== undefined,
  };
}
