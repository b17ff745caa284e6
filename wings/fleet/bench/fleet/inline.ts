// Up to which size a blob should lie in its row: puts and gets of one client with the bytes in PostgreSQL, and with the
// bytes in an object that a row names. By bare calls, with the rows that a put of the fleet engine writes. Decision 0302.
import { createHash, randomBytes } from 'node:crypto';
import type pg from 'pg';
import { median, table } from '../../../../bench/server/table.ts';
import { FLEET } from '../../limits.ts';
import { postgresCpuSeconds, type Services } from './services.ts';
import { milliseconds } from './words.ts';

const KIB = 1024;
const SIZES = [1, 4, 16, 64, 256].map((size) => size * KIB);
const ROWS = 300;
const OBJECTS = 60;
const MICROSECONDS = 1e6;

interface Seen {
  readonly putMs: number;
  readonly getMs: number;
  /** Of PostgreSQL, for one put and for one get. */
  readonly putCpu: number;
  readonly getCpu: number;
  /** For one put. */
  readonly walBytes: number;
}

export async function compareInline(services: Services): Promise<string> {
  const { database } = services;
  await database.query(
    'CREATE TABLE assay.bench (hash bytea PRIMARY KEY, bytes bytea, objects uuid[], tick bigint)',
  );
  await database.query('ALTER TABLE assay.bench ALTER COLUMN bytes SET STORAGE EXTERNAL');
  const lines: string[][] = [];
  for (const size of SIZES) {
    const row = await measure(database, size, ROWS, {
      async put(hash, content) {
        await database.query({ ...INSERT, values: [hash, content, null] });
      },
      async get(hash) {
        const { rows } = await database.query<{ bytes: Buffer }>({ ...SELECT, values: [hash] });
        return rows[0]?.bytes.length ?? 0;
      },
    });
    const object = await measure(database, size, OBJECTS, {
      async put(hash, content) {
        const name = crypto.randomUUID();
        await database.query({ ...BEGIN, values: [name] });
        await services.objects.put(name, content, content.length);
        await database.query({ ...INSERT, values: [hash, null, [name]] });
      },
      async get(hash) {
        const { rows } = await database.query<{ objects: string[] }>({ ...SELECT, values: [hash] });
        const pieces = await services.objects.get(rows[0]?.objects[0] ?? '', 0, size);
        return Buffer.concat(await Array.fromAsync(pieces ?? [])).length;
      },
    });
    lines.push([
      `${size / KIB} KiB${size === FLEET.inlineBytes ? ' (the limit)' : ''}`,
      ...[row.putMs, object.putMs, row.getMs, object.getMs].map(milliseconds),
      ...[row.putCpu, object.putCpu, row.getCpu, object.getCpu].map((value) => value.toFixed(0)),
      ...[row.walBytes, object.walBytes].map((bytes) => (bytes / KIB).toFixed(1)),
    ]);
  }
  return table([
    [
      'a blob in the row | in an object',
      'put ms, row',
      'object',
      'get ms, row',
      'object',
      'PostgreSQL µs, put, row',
      'object',
      'get, row',
      'object',
      'WAL KiB, row',
      'object',
    ],
    ...lines,
  ]);
}

const INSERT = {
  name: 'bench insert',
  text: 'INSERT INTO assay.bench (hash, bytes, objects, tick) VALUES ($1, $2, $3, 1)',
};
const BEGIN = { name: 'bench begin', text: 'INSERT INTO assay.object VALUES ($1, 0, 1)' };
const SELECT = { name: 'bench select', text: 'SELECT bytes, objects FROM assay.bench WHERE hash = $1' };

interface Calls {
  put(hash: Buffer, content: Buffer): Promise<void>;
  get(hash: Buffer): Promise<number>;
}

async function measure(database: pg.Client, size: number, count: number, calls: Calls): Promise<Seen> {
  const contents = Array.from({ length: count }, () => randomBytes(size));
  const hashes = contents.map((content) => createHash('sha256').update(content).digest());
  const wal = await walPosition(database);
  const put = await timed(database, count, async (at) => {
    await calls.put(hashes[at] ?? Buffer.alloc(0), contents[at] ?? Buffer.alloc(0));
  });
  const walBytes = ((await walPosition(database)) - wal) / count;
  const get = await timed(database, count, async (at) => {
    const length = await calls.get(hashes[at] ?? Buffer.alloc(0));
    if (length !== size) throw new Error(`${length} bytes instead of ${size}`);
  });
  return { putMs: put.ms, getMs: get.ms, putCpu: put.cpu, getCpu: get.cpu, walBytes };
}

async function timed(
  database: pg.Client,
  count: number,
  call: (at: number) => Promise<void>,
): Promise<{ ms: number; cpu: number }> {
  const before = await postgresCpuSeconds(database);
  const took: number[] = [];
  for (let at = 0; at < count; at++) {
    const began = performance.now();
    await call(at);
    took.push(performance.now() - began);
  }
  const cpu = (((await postgresCpuSeconds(database)) - before) / count) * MICROSECONDS;
  return { ms: median(took), cpu };
}

async function walPosition(database: pg.Client): Promise<number> {
  const { rows } = await database.query<{ position: string }>(
    `SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') AS position`,
  );
  return Number(rows[0]?.position);
}
