// TLS to a real PostgreSQL beyond loopback. The name db.test leads to this machine, and Assay can't know that.
import { execFileSync } from 'node:child_process';
import dns from 'node:dns';
import { chmodSync, chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Certificates, makeCertificates } from '../../../../../test/rig/certificates.ts';
import { connectionOf } from '../../../engine/index/connection.ts';
import { Database } from '../../../engine/index/database.ts';
import { migrate } from '../../../engine/index/schema.ts';
import { OwnPostgres } from '../../rig/own-postgres.ts';

let folder: string;
let certificates: Certificates;
let secure: OwnPostgres;
let plain: OwnPostgres;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'assay-test-'));
  chmodSync(folder, 0o755);
  certificates = makeCertificates(folder, 'DNS:db.test');
  const { cert, key } = certificates.server;
  chmodSync(key, 0o600);
  if (process.getuid?.() === 0) chownSync(key, idOf('-u'), idOf('-g'));
  secure = await OwnPostgres.start(`ssl = on\nssl_cert_file = '${cert}'\nssl_key_file = '${key}'\n`);
  plain = await OwnPostgres.start();
  const { lookup } = dns;
  vi.spyOn(dns, 'lookup').mockImplementation(((name: string, ...rest: [never]) => {
    lookup(name.endsWith('.test') ? '127.0.0.1' : name, ...rest);
  }) as typeof lookup);
});
afterAll(async () => {
  vi.restoreAllMocks();
  await Promise.all([secure.stop(), plain.stop()]);
  rmSync(folder, { recursive: true, force: true });
});

const idOf = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));

/** By another name than that of a socket or of loopback, with a password. */
const far = ({ port }: OwnPostgres, query = '', host = 'db.test') =>
  `postgres://assay:HIDDEN@${host}:${port}/postgres${query}`;

/** Whether the connection of a node has TLS, or why it does not start. */
async function meets(url: string): Promise<boolean | string> {
  let hasTls: boolean | undefined;
  try {
    const database = await Database.open({
      url,
      async greet(queries) {
        const text = 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()';
        hasTls = (await queries.query<{ ssl: boolean }>({ name: 'ssl', text }))[0]?.ssl;
      },
      onLost: () => {},
    });
    await database.close();
    return hasTls ?? 'it is away';
  } catch (error) {
    return String(error);
  }
}

describe('beyond loopback', () => {
  it('the certificate is verified, by the authority that the URL names', async () => {
    const trusted = `?sslrootcert=${certificates.ca}`;
    expect(await meets(far(secure, trusted))).toBe(true);
    for (const mode of ['verify-full', 'require', 'prefer', 'verify-ca'])
      expect(await meets(far(secure, `${trusted}&sslmode=${mode}`)), mode).toBe(true);
    expect(await meets(far(secure, trusted, 'other.test'))).toContain('ERR_TLS_CERT_ALTNAME_INVALID');
  });

  it('one that nobody vouches for is refused at the start, with words on how to relax', async () => {
    for (const query of ['', '?sslmode=require', '?sslmode=prefer', '?sslmode=verify-full']) {
      const said = await meets(far(secure, query));
      expect(said).toContain('its certificate is not trusted');
      expect(said).toContain('sslrootcert=FILE in --index, or add sslmode=no-verify');
      expect(said).not.toContain('HIDDEN');
    }
    expect(await meets(far(secure, '?sslmode=no-verify'))).toBe(true);
    await expect(migrate(far(secure))).rejects.toThrow('its certificate is not trusted');
  });

  it('a PostgreSQL without TLS is refused, unless the URL says otherwise', async () => {
    expect(await meets(far(plain))).toContain(
      'it offers no TLS: turn `ssl` on there, or add sslmode=disable',
    );
    expect(await meets(far(plain, '?sslmode=disable'))).toBe(false);
    expect(await meets(far(secure, '?sslmode=disable'))).toBe(false);
  });
});

it('on this machine no TLS is asked for', async () => {
  for (const host of ['127.0.0.1', 'localhost']) expect(await meets(far(plain, '', host))).toBe(false);
});

it('a role or a database that does not exist is told at the start, one that is away is not', async () => {
  const url = new URL(plain.url);
  url.pathname = '/absent';
  expect(await meets(url.href)).toContain('database "absent" does not exist');
  url.username = 'nobody';
  expect(await meets(url.href)).toContain('role "nobody" does not exist');
  url.port = '9';
  expect(await meets(url.href)).toBe('it is away');
});

it('a word that the driver does not know is refused, and no part of the URL is told', () => {
  for (const [query, why] of [
    ['?sslmode=requird', 'sslmode of --index is one of'],
    ['?sslrootcert=/nowhere/HIDDEN', 'a file that it names must exist'],
  ] as const) {
    const read = () => connectionOf(`postgres://assay:HIDDEN@db.test/x${query}`, pg.Client);
    expect(read).toThrow(why);
    expect(read).not.toThrow('HIDDEN');
  }
});
