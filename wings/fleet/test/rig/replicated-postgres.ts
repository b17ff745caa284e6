// A PostgreSQL with a standby, for tests of a failover. Clients connect to a proxy, which leads to the primary and,
// after the failover, to the standby. The standby gets its copy through another proxy, which can be cut.
import { OwnPostgres } from './own-postgres.ts';
import { TcpProxy } from './tcp-proxy.ts';

export class ReplicatedPostgres {
  /** For clients, also after the failover. */
  readonly url: string;
  /** From the primary to the standby. */
  readonly replication: TcpProxy;
  readonly #clients: TcpProxy;
  readonly #primary: OwnPostgres;
  readonly #standby: OwnPostgres;

  /** `isSynchronous`: the primary acknowledges nothing that the standby does not have. */
  static async start(isSynchronous: boolean): Promise<ReplicatedPostgres> {
    const primary = await OwnPostgres.start();
    const clients = await TcpProxy.start('127.0.0.1', primary.port);
    const replication = await TcpProxy.start('127.0.0.1', primary.port);
    const standby = await OwnPostgres.startStandby(primary, replication.port);
    if (isSynchronous) await makeSynchronous(primary);
    return new ReplicatedPostgres(primary, standby, clients, replication);
  }

  private constructor(primary: OwnPostgres, standby: OwnPostgres, clients: TcpProxy, replication: TcpProxy) {
    this.#primary = primary;
    this.#standby = standby;
    this.#clients = clients;
    this.replication = replication;
    this.url = `postgres://assay@127.0.0.1:${clients.port}/postgres`;
  }

  /** Waits until the standby has all that the primary has now. */
  async caughtUp(): Promise<void> {
    const [row] = await this.#primary.query('SELECT pg_current_wal_lsn()::text AS position');
    const has = `SELECT 1 WHERE pg_last_wal_replay_lsn() >= '${String(row?.position)}'`;
    while ((await this.#standby.query(has)).length === 0) await pause();
  }

  /** The primary crashes, the standby takes its place, and clients are led there. */
  async failOver(): Promise<void> {
    await this.#primary.crash();
    await this.#standby.promote();
    this.#clients.target = { host: '127.0.0.1', port: this.#standby.port };
  }

  /** Moves the logical clock of the standby that has taken the place of the primary. */
  async advance(ticks: number): Promise<void> {
    await this.#standby.query(`UPDATE assay.clock SET tick = tick + ${ticks}`);
  }

  async stop(): Promise<void> {
    await this.#primary.stop();
    await this.#standby.stop();
    await Promise.all([this.#clients.stop(), this.replication.stop()]);
  }
}

async function makeSynchronous(primary: OwnPostgres): Promise<void> {
  await primary.query(`ALTER SYSTEM SET synchronous_standby_names = 'standby'`);
  await primary.query('SELECT pg_reload_conf()');
  const isSync = `SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'`;
  while ((await primary.query(isSync)).length === 0) await pause();
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 20));
}
