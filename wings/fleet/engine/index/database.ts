// The connection of a node to PostgreSQL: a pool, prepared statements, and one answer to every fault.
//
// Invariants:
// D1 A statement ends within FLEET.indexAnswerMs: with its rows, or with ASSAY_INDEX_AWAY.
// D2 While PostgreSQL is away, a statement fails at once, also one that waits for a connection. One probe at a time
//    finds out when it is back.
// D3 `onLost` runs before any statement fails because the connection is lost. What a node remembers of the
//    index is forgotten there.
// D4 A statement waits for a connection at most FLEET.indexQueueMs, and is then refused as ASSAY_OVERLOADED: a busy
//    node must not take its own queue for a PostgreSQL that is away. One that would wait longer than
//    FLEET.indexShedMs, by what the last statements took, is refused at once.
// D5 A statement that failed may have been executed. Every statement can be repeated.
// D6 A PostgreSQL counts as away until `greet` has succeeded with it, at the start and after each loss.
// D8 A node whose tables stop to fit while it runs uses them no more, until they fit again or it is replaced.
// D7 `ask` has a connection of its own: the readiness of a node does not depend on how busy it is.
//
// Each write is one statement, so each is one transaction and one round trip.
import type pg from 'pg';
import { AssayError, messageOf } from '../../../../core/errors.ts';
import { Semaphore } from '../../../../store/shared/semaphore.ts';
import { FLEET } from '../../limits.ts';
import { connectionOf, explained, IndexRefusal } from './connection.ts';
import { away, faultOfStatement, isOfStatement, isRepeatable } from './faults.ts';
import { DatabaseSession } from './session.ts';

/** A statement is prepared once in each connection. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** A statement or a request has ended: of which kind, how long it took, and whether it failed. */
export type OnAnswer = (kind: string, milliseconds: number, isFailure: boolean) => void;

/** Runs statements. */
export interface Queries {
  /** The type of the rows is what the statement selects. */
  query<Row extends pg.QueryResultRow>(statement: Statement, values?: readonly unknown[]): Promise<Row[]>;
}

interface DatabaseOptions {
  readonly url: string;
  /** Reads what a node must know before it may use the tables. Throws if it must not. */
  readonly greet: (queries: Queries) => Promise<void>;
  /** Looks every `watchMs` whether the tables still fit. Throws ASSAY_INDEX_VERSION if they do not. */
  readonly watch?: (queries: Queries) => Promise<void>;
  readonly watchMs?: number | undefined;
  /** The connection is lost: all that is remembered about the index must be forgotten. */
  readonly onLost: () => void;
  readonly answerMs?: number | undefined;
  readonly shedMs?: number | undefined;
  readonly onAnswer?: OnAnswer | undefined;
}

export class Database implements Queries {
  readonly #options: DatabaseOptions;
  readonly #connect: (max: number) => pg.Pool;
  /** Replaced when a connection is lost: others may lead to a server that is no longer the primary. */
  #pool: pg.Pool;
  /** One connection, for `ask`. */
  readonly #readiness: pg.Pool;
  /** How long a statement takes with its connection, as a moving average. */
  #meanMs = 0;
  readonly #connections = new Semaphore({
    permits: FLEET.indexConnections,
    maxWaiting: FLEET.indexQueue,
    waitMs: FLEET.indexQueueMs,
  });
  #isAway = true;
  #isUnfit = false;
  #isClosed = false;
  #probe: NodeJS.Timeout | undefined;
  readonly #watch: NodeJS.Timeout;
  readonly #sessions = new Set<DatabaseSession>();

  /**
   * Opens also while PostgreSQL is away. Throws ASSAY_INDEX_VERSION if its tables do not fit, and IndexRefusal if it
   * refuses the connection, or can't be trusted.
   */
  static async open(options: DatabaseOptions): Promise<Database> {
    const { default: driver } = await import('pg');
    const { answerMs = FLEET.indexAnswerMs } = options;
    const connect = (max: number) =>
      new driver.Pool({
        ...connectionOf(options.url, driver.Client),
        max,
        connectionTimeoutMillis: FLEET.indexConnectMs,
        query_timeout: answerMs,
        // The server gives up first, so that a lock does not cost a connection.
        statement_timeout: answerMs / 2,
        keepAlive: true,
        application_name: 'assay',
        // Compiling a short statement takes seconds, if the planner has no statistics yet.
        options: '-c jit=off -c bytea_output=hex',
        types: {
          getTypeParser: (type: number, format?: 'text' | 'binary') =>
            PARSERS.get(type) ?? driver.types.getTypeParser(type, format),
        },
      });
    const database = new Database(connect, options);
    try {
      await database.#meet();
    } catch (error) {
      if (!database.#isUnfit && !(error instanceof IndexRefusal)) database.#probeLater(FLEET.probeMs);
      else {
        await database.close();
        throw error;
      }
    }
    return database;
  }

  private constructor(connect: (max: number) => pg.Pool, options: DatabaseOptions) {
    this.#connect = connect;
    this.#options = options;
    this.#pool = this.#open();
    this.#readiness = connect(1);
    this.#readiness.on('error', () => {});
    this.#watch = setInterval(() => void this.#look(), options.watchMs ?? FLEET.versionMs);
    this.#watch.unref();
  }

  #open(): pg.Pool {
    const pool = this.#connect(FLEET.indexConnections);
    // An idle connection was cut. Without a listener this would end the process.
    pool.on('error', () => {
      if (pool === this.#pool) this.#lost();
    });
    return pool;
  }

  get isAway(): boolean {
    return this.#isAway;
  }

  /** PostgreSQL answers, and its tables are not those that this version needs. */
  get isUnfit(): boolean {
    return this.#isUnfit;
  }

  async query<Row extends pg.QueryResultRow>(
    statement: Statement,
    values: readonly unknown[] = [],
  ): Promise<Row[]> {
    for (let attempt = 1; ; attempt++) {
      this.#refuseIfAway();
      this.#refuseIfBusy();
      const began = performance.now();
      try {
        const { rows } = await this.#connections.run(() => {
          this.#refuseIfAway();
          return this.#timed(() => this.#pool.query<Row>({ ...statement, values: [...values] }));
        });
        this.#answered(statement, began, false);
        return rows;
      } catch (error) {
        this.#answered(statement, began, true);
        if (error instanceof AssayError) throw error;
        if (isRepeatable(error) && attempt < FLEET.statementAttempts) continue;
        throw this.#faultOf(error);
      }
    }
  }

  /** A new connection takes several times as long as a statement. Nothing waits for one that is open until all are. */
  async #timed<T>(ask: () => Promise<T>): Promise<T> {
    const areOpen = this.#pool.totalCount >= FLEET.indexConnections;
    const began = performance.now();
    try {
      return await ask();
    } finally {
      if (areOpen) this.#meanMs += (performance.now() - began - this.#meanMs) / FLEET.indexConnections;
    }
  }

  #refuseIfBusy(): void {
    const { shedMs = FLEET.indexShedMs } = this.#options;
    const waitMs = (this.#connections.waiting * this.#meanMs) / FLEET.indexConnections;
    if (waitMs > shedMs)
      throw new AssayError(
        'ASSAY_OVERLOADED',
        `it would wait ${Math.round(waitMs / 1000)} s for a connection to PostgreSQL`,
      );
  }

  /** Throws unless PostgreSQL answers now, as a primary (D7). */
  async ask(): Promise<void> {
    this.#refuseIfAway();
    await refuseStandby(this.#readiness);
  }

  /** A connection for the caller alone. It ends when the connection to PostgreSQL is lost (D3). */
  async openSession(): Promise<DatabaseSession> {
    this.#refuseIfAway();
    const session = await DatabaseSession.open(this.#connect(1), () => this.#sessions.delete(session));
    this.#sessions.add(session);
    return session;
  }

  /** The first word of its name is the kind: those are few. */
  #answered({ name }: Statement, began: number, isFailure: boolean): void {
    const [kind = ''] = name.split(' ', 1);
    this.#options.onAnswer?.(kind, performance.now() - began, isFailure);
  }

  #refuseIfAway(): void {
    if (this.#isAway)
      throw away(this.#isUnfit ? 'its tables do not fit' : 'it could not be reached a moment ago');
  }

  #faultOf(error: unknown): AssayError {
    if (isOfStatement(error)) return faultOfStatement(error);
    this.#lost();
    return away(messageOf(error));
  }

  #lost(): void {
    this.#options.onLost();
    if (this.#isClosed || this.#isAway) return;
    this.#isAway = true;
    const old = this.#pool;
    this.#pool = this.#open();
    old.end().catch(() => {});
    for (const session of this.#sessions) session.end();
    this.#probeLater(0);
  }

  async #look(): Promise<void> {
    if (this.#isAway) return;
    try {
      await this.#options.watch?.(this);
    } catch (error) {
      if (!(error instanceof AssayError) || error.code !== 'ASSAY_INDEX_VERSION') return;
      this.#isUnfit = true;
      this.#lost();
    }
  }

  #probeLater(delayMs: number): void {
    this.#probe = setTimeout(() => void this.#tryAgain(), delayMs);
    this.#probe.unref();
  }

  async #tryAgain(): Promise<void> {
    await this.#meet().catch(() => {});
    if (this.#isAway && !this.#isClosed) this.#probeLater(FLEET.probeMs);
  }

  /** Throws if PostgreSQL is away, is a standby, or has tables that do not fit. */
  async #meet(): Promise<void> {
    try {
      await refuseStandby(this.#pool);
      await this.#options.greet({
        query: async <Row extends pg.QueryResultRow>({ text }: Statement, values: readonly unknown[] = []) =>
          (await this.#pool.query<Row>(text, [...values])).rows,
      });
      this.#isAway = false;
      this.#isUnfit = false;
    } catch (error) {
      const cause = explained(error);
      const fault = cause instanceof AssayError ? cause : this.#faultOf(cause);
      this.#isUnfit = fault.code === 'ASSAY_INDEX_VERSION';
      throw fault;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#probe);
    clearInterval(this.#watch);
    await Promise.all([this.#pool.end(), this.#readiness.end()]);
  }
}

async function refuseStandby(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby');
  if (rows[0]?.standby !== false) throw away('it is a standby');
}

/** The driver returns int8 as text. No number here is beyond 2^53. */
const PARSERS = new Map<number, (text: string) => number | number[] | string[]>([
  [20, Number],
  // A bytea[] becomes the hexadecimal digits of each. The driver would make a Buffer of each, in several times as long.
  [1001, (text: string) => (text === '{}' ? [] : text.slice(1, -1).split(',').map(hexDigits))],
  [1016, (text: string) => (text === '{}' ? [] : text.slice(1, -1).split(',').map(Number))],
]);

/** In an array, an element is quoted, and its backslash is doubled: "\\x00ff". */
function hexDigits(element: string): string {
  return element.slice('"\\\\x'.length, -1);
}

/** An array of hashes as PostgreSQL reads it. The driver's own encoding takes several times as long. */
export function hashArray(hashes: readonly string[]): string {
  return hashes.length === 0 ? '{}' : `{"\\\\x${hashes.join('","\\\\x')}"}`;
}

export function numberArray(numbers: readonly number[]): string {
  return `{${numbers.join(',')}}`;
}
