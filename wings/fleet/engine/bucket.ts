// The bucket of a node: its objects, whether it can be reached now, and its canary.
//
// Invariants:
// B1 After a failure the bucket counts as away, and `refuseIfAway` refuses an upload before its first byte. One
//    probe at a time reads the canary to find out when it is back. Whoever reads the canary ends that state.
// B2 The canary is an object that no node deletes. Only while it can be read does a missing object mean anything
//    (lost-objects.ts). It is put once: a bucket that has lost it gets no other.
// B3 The canary becomes the canary in the statement that removes its row among the objects. Until then it is an upload
//    like any other: that of a node that died, or was second, is condemned (object-rows.ts).
// B4 Nothing is put before `identify` has found out that the bucket and the database belong together (ownership/).
import { AssayError } from '../../../core/errors.ts';
import { FLEET } from '../limits.ts';
import type { Database, Statement } from './index/database.ts';
import { type ObjectRows, UPLOADING } from './index/object-rows.ts';
import type { Objects } from './objects.ts';
import { isMismatch } from './ownership/ownership.ts';
import { BucketRefusal } from './s3/refusals.ts';

const READ_CANARY: Statement = { name: 'canary read', text: 'SELECT name FROM assay.canary' };
/** A row comes back if this is the canary now. */
const ADD_CANARY: Statement = {
  name: 'canary add',
  text: `
    WITH mine AS (SELECT name FROM assay.object WHERE name = $1 AND state = ${UPLOADING} FOR UPDATE),
      added AS (INSERT INTO assay.canary (name) SELECT name FROM mine ON CONFLICT DO NOTHING RETURNING name)
    DELETE FROM assay.object o USING added WHERE o.name = added.name RETURNING o.name`,
};
const CANARY = Buffer.from('Assay reads this object to find out whether the bucket can be read.\n');

export class Bucket {
  readonly objects: Objects;
  readonly #database: Database;
  readonly #objectRows: ObjectRows;
  readonly #identify: () => Promise<void>;
  #canary: string | undefined;
  #isAway = false;
  #probe: NodeJS.Timeout | undefined;
  #isClosed = false;

  /**
   * Opens also while the bucket or PostgreSQL is away: then the canary is found, or put, later. Throws if they do not
   * belong together, and a BucketRefusal if the key may not put it.
   */
  static async open(
    objects: Objects,
    database: Database,
    objectRows: ObjectRows,
    identify: () => Promise<void>,
  ): Promise<Bucket> {
    const bucket = new Bucket(objects, database, objectRows, identify);
    await bucket
      .attempt(() => bucket.#findCanary())
      .catch((error: unknown) => {
        if (!(error instanceof BucketRefusal) && !isMismatch(error)) return;
        bucket.#stopProbing();
        throw error;
      });
    return bucket;
  }

  private constructor(
    objects: Objects,
    database: Database,
    objectRows: ObjectRows,
    identify: () => Promise<void>,
  ) {
    this.objects = objects;
    this.#database = database;
    this.#objectRows = objectRows;
    this.#identify = identify;
  }

  get isAway(): boolean {
    return this.#isAway;
  }

  get hasCanary(): boolean {
    return this.#canary !== undefined;
  }

  refuseIfAway(): void {
    if (this.#isAway) throw new AssayError('ASSAY_BUCKET_AWAY', 'it could not be reached a moment ago');
  }

  /** Runs a request, and notes if the bucket fails. */
  async attempt<T>(request: (objects: Objects) => Promise<T>): Promise<T> {
    try {
      return await request(this.objects);
    } catch (error) {
      if (error instanceof AssayError && error.code === 'ASSAY_BUCKET_AWAY') this.#failed();
      throw error;
    }
  }

  /** False only if the bucket says NoSuchKey. */
  has(name: string): Promise<boolean> {
    return this.attempt(async (objects) => {
      const content = await objects.get(name, 0, 1);
      if (content) await Array.fromAsync(content);
      return content !== undefined;
    });
  }

  #failed(): void {
    if (this.#isAway || this.#isClosed) return;
    this.#isAway = true;
    this.#probeLater();
  }

  #probeLater(): void {
    this.#probe = setTimeout(() => void this.#tryAgain(), FLEET.probeMs);
    this.#probe.unref();
  }

  async #tryAgain(): Promise<void> {
    if (!(await this.canReadCanary()) && !this.#isClosed) this.#probeLater();
  }

  async canReadCanary(): Promise<boolean> {
    try {
      const content = await this.objects.probe(await this.#findCanary(), CANARY.length);
      const isRead = content !== undefined && CANARY.equals(content);
      if (isRead) this.#isAway = false;
      return isRead;
    } catch {
      return false;
    }
  }

  async #findCanary(): Promise<string> {
    for (; this.#canary === undefined; ) {
      await this.#identify();
      const [row] = await this.#database.query<{ name: string }>(READ_CANARY);
      this.#canary = row?.name;
      if (!row) await this.#putCanary();
    }
    return this.#canary;
  }

  /** Asks for the object first: while the bucket is away, no row is written in vain. */
  async #putCanary(): Promise<void> {
    await this.objects.get(crypto.randomUUID(), 0, 1);
    await this.#objectRows
      .whileUploading(async (name) => {
        await this.objects.put(name, CANARY, CANARY.length);
        const added = await this.#database.query(ADD_CANARY, [name]);
        if (added.length === 0) throw new AnotherCanary();
      })
      .catch((error: unknown) => {
        if (!(error instanceof AnotherCanary)) throw error;
      });
  }

  #stopProbing(): void {
    this.#isClosed = true;
    clearTimeout(this.#probe);
  }

  async close(): Promise<void> {
    this.#stopProbing();
    await this.objects.close();
  }
}

/** Another node was first. */
class AnotherCanary extends Error {}
