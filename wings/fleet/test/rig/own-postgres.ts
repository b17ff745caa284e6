// A PostgreSQL of one test, which the test may crash: no other test uses it. Its data survives the crash, as on a machine
// whose disk is whole.
import { execFile } from 'node:child_process';
import { chmodSync, chownSync, globSync, mkdtempSync, rmSync } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';

const run = promisify(execFile);
const isRoot = process.getuid?.() === 0;
/** PostgreSQL does not run as root. */
const AS_POSTGRES = isRoot ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups'] : [];

export class OwnPostgres {
  readonly port: number;
  readonly #folder: string;

  /** `more`: lines of its configuration. It accepts any password, on any address that is named there. */
  static async start(more = ''): Promise<OwnPostgres> {
    const postgres = new OwnPostgres(await newFolder(), await freePort());
    await postgres.#tool(
      'initdb',
      ...postgres.#pgdata,
      '--username=assay',
      '--auth=trust',
      '--no-sync',
      '--encoding=UTF8',
      '--locale=C.UTF-8',
    );
    await postgres.#configure();
    await appendFile(join(postgres.#data, 'postgresql.conf'), more);
    await postgres.restart();
    return postgres;
  }

  /** A standby of `primary`, which it reaches at `sourcePort`. */
  static async startStandby(primary: OwnPostgres, sourcePort: number): Promise<OwnPostgres> {
    const standby = new OwnPostgres(await newFolder(), await freePort());
    const from = ['--host=127.0.0.1', `--port=${primary.port}`, '--username=assay'];
    await standby.#tool(
      'pg_basebackup',
      ...from,
      ...standby.#pgdata,
      '--checkpoint=fast',
      '--write-recovery-conf',
    );
    const source = `host=127.0.0.1 port=${sourcePort} user=assay application_name=standby`;
    await standby.#configure();
    await appendFile(join(standby.#data, 'postgresql.auto.conf'), `primary_conninfo = '${source}'\n`);
    await standby.restart();
    return standby;
  }

  private constructor(folder: string, port: number) {
    this.#folder = folder;
    this.port = port;
  }

  get url(): string {
    return `postgres://assay@127.0.0.1:${this.port}/postgres`;
  }

  get #data(): string {
    return join(this.#folder, 'data');
  }

  get #pgdata(): readonly string[] {
    return ['--pgdata', this.#data];
  }

  /** After a crash: returns when it accepts connections. */
  async restart(): Promise<void> {
    await this.#tool('pg_ctl', 'start', ...this.#pgdata, '--log', join(this.#folder, 'log'), '--wait');
  }

  /** All its processes end at once, in the middle of whatever they do. */
  async crash(): Promise<void> {
    await this.#tool('pg_ctl', 'stop', ...this.#pgdata, '--mode=immediate');
  }

  /** A standby becomes the primary. */
  async promote(): Promise<void> {
    await this.#tool('pg_ctl', 'promote', ...this.#pgdata, '--wait');
  }

  async query(text: string): Promise<Record<string, unknown>[]> {
    const client = new pg.Client(this.url);
    await client.connect();
    try {
      return (await client.query(text)).rows;
    } finally {
      await client.end();
    }
  }

  async stop(): Promise<void> {
    await this.crash().catch(() => {});
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #configure(): Promise<void> {
    await appendFile(
      join(this.#data, 'postgresql.conf'),
      `listen_addresses = '127.0.0.1'\nport = ${this.port}\nunix_socket_directories = ''\nfsync = off\n`,
    );
  }

  async #tool(name: string, ...args: readonly string[]): Promise<void> {
    const [program] = globSync(`/usr/lib/postgresql/*/bin/${name}`);
    if (program === undefined) throw new Error('PostgreSQL is missing: run scripts/setup-tests.sh');
    const [first = program, ...rest] = [...AS_POSTGRES, program, ...args];
    await run(first, rest, { cwd: '/' });
  }
}

async function newFolder(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'assay-test-postgres-'));
  if (isRoot) {
    const id = async (flag: string) => Number((await run('id', [flag, 'postgres'])).stdout);
    chownSync(folder, await id('-u'), await id('-g'));
  }
  chmodSync(folder, 0o700);
  return folder;
}

/** Below the range from which the kernel takes ports for connections. */
export async function freePort(): Promise<number> {
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
