// A PostgreSQL with a standby, for tests of a failover. Clients connect to a proxy, which leads to the primary and,
// after the failover, to the standby. The standby gets its copy through another proxy, which can be cut.
import { execFile } from 'node:child_process';
import { chmodSync, chownSync, globSync, mkdtempSync, rmSync } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { TcpProxy } from './tcp-proxy.ts';

const run = promisify(execFile);
const isRoot = process.getuid?.() === 0;
/** PostgreSQL does not run as root. */
const AS_POSTGRES = isRoot ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups'] : [];

export class ReplicatedPostgres {
  /** For clients, also after the failover. */
  readonly url: string;
  /** From the primary to the standby. */
  readonly replication: TcpProxy;
  readonly #folder: string;
  readonly #clients: TcpProxy;
  readonly #ports: { readonly primary: number; readonly standby: number };

  /** `isSynchronous`: the primary acknowledges nothing that the standby does not have. */
  static async start(isSynchronous: boolean): Promise<ReplicatedPostgres> {
    const folder = mkdtempSync(join(tmpdir(), 'assay-test-replicated-'));
    if (isRoot) {
      const id = async (flag: string) => Number((await run('id', [flag, 'postgres'])).stdout);
      chownSync(folder, await id('-u'), await id('-g'));
    }
    chmodSync(folder, 0o700);
    const ports = { primary: await freePort(), standby: await freePort() };
    const clients = await TcpProxy.start('127.0.0.1', ports.primary);
    const replication = await TcpProxy.start('127.0.0.1', ports.primary);
    const postgres = new ReplicatedPostgres(folder, ports, clients, replication);
    await postgres.#startBoth(isSynchronous);
    return postgres;
  }

  private constructor(
    folder: string,
    ports: { readonly primary: number; readonly standby: number },
    clients: TcpProxy,
    replication: TcpProxy,
  ) {
    this.#folder = folder;
    this.#ports = ports;
    this.#clients = clients;
    this.replication = replication;
    this.url = `postgres://assay@127.0.0.1:${clients.port}/postgres`;
  }

  async #startBoth(isSynchronous: boolean): Promise<void> {
    const [primary, standby] = [join(this.#folder, 'primary'), join(this.#folder, 'standby')];
    await this.#tool('initdb', '--pgdata', primary, '--username=assay', '--auth=trust', '--no-sync');
    await appendFile(join(primary, 'postgresql.conf'), settingsOf(this.#ports.primary));
    await this.#start('primary');
    const from = ['--host=127.0.0.1', `--port=${this.#ports.primary}`, '--username=assay'];
    await this.#tool(
      'pg_basebackup',
      ...from,
      '--pgdata',
      standby,
      '--checkpoint=fast',
      '--write-recovery-conf',
    );
    const source = `host=127.0.0.1 port=${this.replication.port} user=assay application_name=standby`;
    await appendFile(join(standby, 'postgresql.conf'), settingsOf(this.#ports.standby));
    await appendFile(join(standby, 'postgresql.auto.conf'), `primary_conninfo = '${source}'\n`);
    await this.#start('standby');
    if (!isSynchronous) return;
    await this.#query('primary', `ALTER SYSTEM SET synchronous_standby_names = 'standby'`);
    await this.#query('primary', 'SELECT pg_reload_conf()');
    const isSync = `SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'`;
    while ((await this.#query('primary', isSync)).length === 0) await pause();
  }

  /** Waits until the standby has all that the primary has now. */
  async caughtUp(): Promise<void> {
    const [row] = await this.#query('primary', 'SELECT pg_current_wal_lsn()::text AS position');
    const has = `SELECT 1 WHERE pg_last_wal_replay_lsn() >= '${String(row?.position)}'`;
    while ((await this.#query('standby', has)).length === 0) await pause();
  }

  /** The primary crashes, the standby takes its place, and clients are led there. */
  async failOver(): Promise<void> {
    await this.#tool('pg_ctl', 'stop', '--pgdata', join(this.#folder, 'primary'), '--mode=immediate');
    await this.#tool('pg_ctl', 'promote', '--pgdata', join(this.#folder, 'standby'), '--wait');
    this.#clients.target = { host: '127.0.0.1', port: this.#ports.standby };
  }

  async stop(): Promise<void> {
    for (const which of ['primary', 'standby'])
      await this.#tool('pg_ctl', 'stop', '--pgdata', join(this.#folder, which), '--mode=immediate').catch(
        () => {},
      );
    await Promise.all([this.#clients.stop(), this.replication.stop()]);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #start(which: 'primary' | 'standby'): Promise<void> {
    const log = join(this.#folder, `${which}.log`);
    await this.#tool('pg_ctl', 'start', '--pgdata', join(this.#folder, which), '--log', log, '--wait');
  }

  async #query(which: 'primary' | 'standby', text: string): Promise<Record<string, unknown>[]> {
    const client = new pg.Client(`postgres://assay@127.0.0.1:${this.#ports[which]}/postgres`);
    await client.connect();
    try {
      return (await client.query(text)).rows;
    } finally {
      await client.end();
    }
  }

  async #tool(name: string, ...args: readonly string[]): Promise<void> {
    const [program] = globSync(`/usr/lib/postgresql/*/bin/${name}`);
    if (program === undefined) throw new Error('PostgreSQL is missing: run scripts/setup-tests.sh');
    const [first = program, ...rest] = [...AS_POSTGRES, program, ...args];
    await run(first, rest, { cwd: '/' });
  }
}

function settingsOf(port: number): string {
  return `listen_addresses = '127.0.0.1'\nport = ${port}\nunix_socket_directories = ''\nfsync = off\n`;
}

/** Below the range from which the kernel takes ports for connections. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 22_000);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 20));
}
