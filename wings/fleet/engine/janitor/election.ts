// The election of the janitor: of all nodes of a fleet, the one that holds an advisory lock of PostgreSQL.
//
// Invariants:
// N1 At most one session holds the lock. What must not be done twice at once is done by statements of that session: a
//    node that has lost the lock has no session, and its statements fail.
// N2 A session that sends nothing, or takes no answer, for FLEET.electionIdleMs is ended by PostgreSQL, also in the middle
//    of a transaction. So a janitor that was stopped, or is cut off, keeps the lock no longer than that.
// N3 `isSure` is true only while PostgreSQL can't have ended the session without this node's knowledge. A node that
//    was stopped asks again first.
// N4 A pooler that gives the statements of a session to several connections elects nobody.
import { messageOf } from '../../../../core/errors.ts';
import type { OnStoreEvent } from '../../../../store/events.ts';
import { FLEET } from '../../limits.ts';
import type { Database, Queries, Statement } from '../index/database.ts';
import type { DatabaseSession } from '../index/session.ts';

const IDLE = (milliseconds: number): Statement => ({
  name: '',
  // The first does not count inside a transaction. Neither of them counts, and no statement is cancelled, while PostgreSQL
  // waits until the node takes an answer.
  text: `
    SELECT set_config('idle_session_timeout', '${milliseconds}', false),
      set_config('idle_in_transaction_session_timeout', '${milliseconds}', false),
      set_config('tcp_user_timeout', '${milliseconds}', false)`,
});

/** A database has its own advisory locks. Any number that nothing else uses there. */
const LOCK = 0x61_73_73_62;

const ELECT: Statement = {
  name: 'election try',
  text: `SELECT pg_try_advisory_lock(${LOCK}) AS "isElected", pg_backend_pid() AS pid`,
};

const BEAT: Statement = { name: 'election beat', text: 'SELECT pg_backend_pid() AS pid' };

const RESIGN: Statement = { name: 'election resign', text: 'SELECT pg_advisory_unlock_all()' };

interface ElectionOptions {
  readonly database: Pick<Database, 'openSession'>;
  /** A monotonic clock of this node. */
  readonly now: () => number;
  readonly idleMs?: number | undefined;
  readonly onEvent: OnStoreEvent;
}

/** The session that holds the lock. */
export interface Mandate extends Queries {
  /** How often this node was elected. */
  readonly term: number;
  /** Throws unless this node holds the lock now: to be asked before work that is not a statement. */
  confirm(): Promise<void>;
  transaction<T>(work: (queries: Queries) => Promise<T>): Promise<T>;
}

export class Election {
  readonly #options: ElectionOptions;
  readonly #idleMs: number;
  #held: { readonly session: DatabaseSession; readonly pid: number } | undefined;
  /** The start of the last statement that PostgreSQL has answered. */
  #sureFrom = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #terms = 0;
  #isClosed = false;

  constructor(options: ElectionOptions) {
    this.#options = options;
    this.#idleMs = options.idleMs ?? FLEET.electionIdleMs;
  }

  get isElected(): boolean {
    return this.#held?.session.isOpen === true;
  }

  /** Takes the lock if it is free. Undefined if another node has it. */
  async mandate(): Promise<Mandate | undefined> {
    if (this.#isClosed) return undefined;
    if (!this.isElected && !(await this.#tryAgain())) return undefined;
    await this.#beat();
    const held = this.#held;
    if (!held) return undefined;
    return {
      term: this.#terms,
      query: (statement, values) => held.session.query(statement, values),
      transaction: (work) => held.session.transaction(work),
      confirm: async () => {
        if (this.#held !== held || !this.#isSure) await this.#beat();
        if (this.#held !== held) throw new Error('another node may be the janitor now');
      },
    };
  }

  /** Half of the time: the other half is for the clocks of two machines. */
  get #isSure(): boolean {
    return this.isElected && this.#options.now() - this.#sureFrom < this.#idleMs / 2;
  }

  async #tryAgain(): Promise<boolean> {
    const session = await this.#options.database.openSession();
    try {
      await session.query(IDLE(this.#idleMs));
      const [row] = await session.query<{ isElected: boolean; pid: number }>(ELECT);
      if (row?.isElected && !this.#isClosed) {
        this.#held = { session, pid: row.pid };
        this.#terms++;
        this.#beatLater();
        return true;
      }
    } catch (error) {
      session.end();
      throw error;
    }
    session.end();
    return false;
  }

  #beatLater(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#beat()
        .catch(() => {})
        .finally(() => this.isElected && !this.#isClosed && this.#beatLater());
    }, this.#idleMs / 6);
    this.#timer.unref();
  }

  /** Asks PostgreSQL over the session. The lock is lost if it can't be asked. */
  async #beat(): Promise<void> {
    const held = this.#held;
    if (!held) return;
    const began = this.#options.now();
    try {
      const [row] = await held.session.query<{ pid: number }>(BEAT);
      if (row?.pid !== held.pid)
        throw new Error('a pooler gives its statements to several connections: let it pool whole sessions');
      this.#sureFrom = began;
    } catch (error) {
      held.session.end();
      if (this.#held === held) this.#held = undefined;
      this.#options.onEvent({ type: 'janitor-lost', detail: messageOf(error) });
    }
  }

  /** Another node can be elected at once. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const held = this.#held;
    this.#held = undefined;
    await held?.session.query(RESIGN).catch(() => {});
    held?.session.end();
  }
}
