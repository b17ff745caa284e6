// Label searches by prefix at 1,000,000 labels: the plan uses an index whatever the prefix, and reads few pages.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { firstBeyond, LABEL_PAGE } from '../../engine/labels.ts';
import { createDatabase, type TestDatabase } from './index-database.ts';

let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
  await database.query(`
    INSERT INTO assay.label SELECT 'main', convert_to(kind || '-' || lpad(n::text, 8, '0'), 'UTF8'), '\\x00', n
    FROM generate_series(1, 1000000) AS n, lateral (SELECT CASE WHEN n <= 20 THEN 'rare-ü' ELSE 'linux-npm' END AS kind) k`);
  await database.query('VACUUM ANALYZE assay.label');
  const types = '(text, bytea, bytea, int8)';
  await database.query(`PREPARE page ${types} AS ${LABEL_PAGE.text}`);
}, 300_000);
afterAll(() => database.close());

interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  /** 0: it was not needed. */
  readonly 'Actual Loops': number;
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly Plans?: readonly Plan[];
}

const literal = (bytes: Buffer) => `'\\x${bytes.toString('hex')}'`;

async function page(prefix: string, mode: string): Promise<{ rows: number; pages: number; scans: string[] }> {
  const from = Buffer.from(prefix);
  const call = `EXECUTE page ('main', ${literal(from)}, ${literal(firstBeyond(from))}, 9007199254740991)`;
  await database.query(`SET plan_cache_mode = ${mode}`);
  const rows = (await database.query(call)).length;
  const [answer] = await database.query(`EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ${call}`);
  const [{ Plan: plan }] = Object(answer)['QUERY PLAN'];
  return { rows, pages: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'], scans: scansOf(plan) };
}

function scansOf(plan: Plan): string[] {
  const own = plan['Relation Name'] === 'label' && plan['Actual Loops'] > 0 ? [plan['Node Type']] : [];
  return [...own, ...(plan.Plans ?? []).flatMap(scansOf)];
}

it.each(['force_generic_plan', 'force_custom_plan'])('%s', async (mode) => {
  for (const [prefix, rows] of [
    ['linux-npm-', 16],
    ['rare-ü', 16],
    ['rare-ü-00000001', 1],
    ['absent-', 0],
    ['', 16],
  ] as const) {
    const found = await page(prefix, mode);
    expect(found.rows, prefix).toBe(rows);
    expect(found.scans, prefix).not.toContain('Seq Scan');
    expect(found.pages, prefix).toBeLessThan(100);
  }
});

it('bytes have no collation, so the index holds for prefixes under any locale', async () => {
  const [column] = await database.query(`
    SELECT atttypid::regtype::text AS type, attcollation::int AS collation FROM pg_attribute
    WHERE attrelid = 'assay.label'::regclass AND attname = 'label'`);
  expect(column).toEqual({ type: 'bytea', collation: 0 });
});
