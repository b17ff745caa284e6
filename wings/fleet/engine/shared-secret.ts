// The secret of a fleet: 32 random bytes in PostgreSQL that all nodes share. Servers sign logins and short tokens with
// it, so what one of them has given is valid at the others.
//
// Guarantees:
// - The first node creates it. Of two that do so at once, one gets the other's.
// - A node that has never reached PostgreSQL has none: it can neither give nor check what is signed.
// To end all logins and short tokens at once, remove the row of assay.secret and start the servers again.
import { randomBytes } from 'node:crypto';
import { AssayError } from '../../../core/errors.ts';
import type { Queries, Statement } from './index/database.ts';

const BYTES = 32;
const READ: Statement = { name: 'secret read', text: 'SELECT bytes FROM assay.secret' };
const ADD: Statement = {
  name: 'secret add',
  text: 'INSERT INTO assay.secret (bytes) VALUES ($1) ON CONFLICT DO NOTHING',
};

export class SharedSecret {
  #bytes: Buffer | undefined;

  /** Throws ASSAY_INDEX_AWAY before `greet`. */
  get bytes(): Buffer {
    if (this.#bytes) return this.#bytes;
    throw new AssayError('ASSAY_INDEX_AWAY', 'this server has not read the secret of the fleet yet');
  }

  async greet(queries: Queries): Promise<void> {
    const [row] = await queries.query<{ bytes: Buffer }>(READ);
    if (row) this.#bytes = row.bytes;
    else {
      await queries.query(ADD, [randomBytes(BYTES)]);
      await this.greet(queries);
    }
  }
}
