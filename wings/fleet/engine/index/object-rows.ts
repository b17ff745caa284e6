// The rows of objects: what the bucket may have, and who needs it.
//
//                  made visible, in one statement with the blob
//   UPLOADING ──────────────────────────────────────────────────> STORED
//      │   └───────────> PART of an upload ─────────────────────────┘ │ evicted, quarantined or lost
//      │ refused, or no confirmation for idleObjectMs                 │
//      └──────────────────────────> CONDEMNED <───────────────────────┘
//                                       │ condemnedMs later: deleted from the bucket, then the row
//   ORPHAN: found in the bucket without a row; condemned at the end of the janitor's listing (janitor/orphans.ts)
//
// A node confirms the objects that it is uploading, so that no janitor takes them for those of a dead node.
import type { Database, Statement } from './database.ts';

export const UPLOADING = 0;
export const PART = 1;
export const STORED = 2;
export const CONDEMNED = 3;
export const ORPHAN = 4;

const BEGIN: Statement = {
  name: 'object begin',
  text: `INSERT INTO assay.object SELECT $1, ${UPLOADING}, tick FROM assay.clock`,
};

const CONDEMN: Statement = {
  name: 'object condemn',
  text: `
    UPDATE assay.object o SET state = ${CONDEMNED}, tick = c.tick FROM assay.clock c
    WHERE o.name = ANY ($1::uuid[]) AND o.state = ${UPLOADING}`,
};

const CONFIRM: Statement = {
  name: 'object confirm',
  text: `
    UPDATE assay.object o SET tick = c.tick FROM assay.clock c
    WHERE o.name = ANY ($1::uuid[]) AND o.state = ${UPLOADING}`,
};

export class ObjectRows {
  readonly #database: Database;
  readonly #newName: () => string;
  /** Those that this node is uploading. */
  readonly #uploading = new Set<string>();

  constructor(database: Database, newName: () => string) {
    this.#database = database;
    this.#newName = newName;
  }

  /** Runs `upload` with a new name. If it fails, the object is condemned. */
  async whileUploading<T>(upload: (name: string) => Promise<T>): Promise<T> {
    const name = this.#newName();
    await this.#database.query(BEGIN, [name]);
    this.#uploading.add(name);
    try {
      return await upload(name);
    } catch (error) {
      // If this fails too, the janitor finds the row.
      await this.condemn([name]).catch(() => {});
      throw error;
    } finally {
      this.#uploading.delete(name);
    }
  }

  /** Those that are still being uploaded. Others, and parts, have an owner. */
  async condemn(names: readonly string[]): Promise<void> {
    await this.#database.query(CONDEMN, [names]);
  }

  async confirm(): Promise<void> {
    if (this.#uploading.size > 0) await this.#database.query(CONFIRM, [[...this.#uploading]]);
  }
}
