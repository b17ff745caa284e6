// A connection to PostgreSQL that its owner keeps, for what a session holds: an advisory lock.
//
// Guarantee: after a failure of the connection the session is ended, and every later statement fails.
import type pg from 'pg';
import { messageOf } from '../../../../core/errors.ts';
import { FLEET } from '../../limits.ts';
import type { Queries, Statement } from './database.ts';
import { away, faultOfStatement, isOfStatement, isRepeatable } from './faults.ts';

const BEGIN: Statement = { name: 'session begin', text: 'BEGIN' };
const COMMIT: Statement = { name: 'session commit', text: 'COMMIT' };
const ROLLBACK: Statement = { name: 'session rollback', text: 'ROLLBACK' };

export class DatabaseSession implements Queries {
  readonly #pool: pg.Pool;
  readonly #client: pg.PoolClient;
  readonly #onEnd: () => void;
  #isOpen = true;
  /** A statement that fails ends the transaction, so it is not repeated alone. */
  #isInTransaction = false;
  /** A connection executes one statement at a time. */
  #last: Promise<unknown> = Promise.resolve();

  /** A pool for one connection. It ends with the session. */
  static async open(pool: pg.Pool, onEnd: () => void): Promise<DatabaseSession> {
    pool.on('error', () => {});
    try {
      return new DatabaseSession(pool, await pool.connect(), onEnd);
    } catch (error) {
      pool.end().catch(() => {});
      throw isOfStatement(error) ? faultOfStatement(error) : away(messageOf(error));
    }
  }

  private constructor(pool: pg.Pool, client: pg.PoolClient, onEnd: () => void) {
    this.#pool = pool;
    this.#client = client;
    this.#onEnd = onEnd;
    client.on('error', () => this.end());
    client.on('end', () => this.end());
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  query<Row extends pg.QueryResultRow>(
    statement: Statement,
    values: readonly unknown[] = [],
  ): Promise<Row[]> {
    return this.#inTurn(() => this.#query<Row>(statement, values));
  }

  /** No other statement of the session runs between those of the transaction. */
  transaction<T>(work: (queries: Queries) => Promise<T>): Promise<T> {
    return this.#inTurn(async () => {
      await this.#query(BEGIN, []);
      this.#isInTransaction = true;
      try {
        const done = await work({ query: (statement, values = []) => this.#query(statement, values) });
        await this.#query(COMMIT, []);
        return done;
      } catch (error) {
        await this.#query(ROLLBACK, []).catch(() => this.end());
        throw error;
      } finally {
        this.#isInTransaction = false;
      }
    });
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }

  async #query<Row extends pg.QueryResultRow>(
    statement: Statement,
    values: readonly unknown[],
  ): Promise<Row[]> {
    for (let attempt = 1; ; attempt++) {
      if (!this.#isOpen) throw away('the session has ended');
      try {
        return (await this.#client.query<Row>({ ...statement, values: [...values] })).rows;
      } catch (error) {
        if (!this.#isInTransaction && isRepeatable(error) && attempt < FLEET.statementAttempts) continue;
        if (isOfStatement(error)) throw faultOfStatement(error);
        this.end();
        throw away(messageOf(error));
      }
    }
  }

  end(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#client.release(true);
    this.#pool.end().catch(() => {});
    this.#onEnd();
  }
}
