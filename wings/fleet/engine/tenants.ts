// The numbers of tenants: the row of a blob lists the tenants that have put it.
// A tenant gets its number before its first put, and keeps it.
import type { Database, Statement } from './index/database.ts';

/** The store itself, which sees every blob. */
export const EVERY_TENANT = 0;
/** A tenant that has never put a blob. */
export const NO_TENANT = -1;

const FIND: Statement = { name: 'tenant find', text: 'SELECT number FROM assay.tenant WHERE name = $1' };
const ADD: Statement = {
  name: 'tenant add',
  text: 'INSERT INTO assay.tenant (name) VALUES ($1) ON CONFLICT DO NOTHING',
};

export class FleetTenants {
  readonly #database: Database;
  /** A number never changes, so it is read once. Forgotten when the connection is lost. */
  readonly #known = new Map<string, number>();

  constructor(database: Database) {
    this.#database = database;
  }

  async find(name: string | undefined): Promise<number> {
    if (name === undefined) return EVERY_TENANT;
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const [row] = await this.#database.query<{ number: number }>(FIND, [name]);
    if (row) this.#known.set(name, row.number);
    return row?.number ?? NO_TENANT;
  }

  async assign(name: string | undefined): Promise<number> {
    const number = await this.find(name);
    if (name === undefined || number !== NO_TENANT) return number;
    await this.#database.query(ADD, [name]);
    return this.assign(name);
  }

  /** A failover may have lost the row of the last tenant, and the next one then gets its number. */
  forget(): void {
    this.#known.clear();
  }
}
