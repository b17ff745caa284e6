// The bucket of a node: its objects, whether it can be reached now, and its canary.
//
// Invariants:
// B1 After a failure the bucket counts as away, and `refuseIfAway` refuses an upload before its first byte. One
//    probe at a time reads the canary to find out when it is back.
// B2 The canary is an object that no node deletes. Only while it can be read does a missing object mean anything
//    (lost-objects.ts).
import { AssayError } from '../../core/errors.ts';
import { STORE } from '../limits.ts';
import type { Database, Statement } from './database.ts';
import type { Objects } from './objects.ts';

const READ_CANARY: Statement = { name: 'canary read', text: 'SELECT name FROM assay.canary' };
const ADD_CANARY: Statement = {
  name: 'canary add',
  text: 'INSERT INTO assay.canary (name) VALUES ($1) ON CONFLICT DO NOTHING',
};
const CANARY = Buffer.from('Assay reads this object to find out whether the bucket can be read.\n');

export class Bucket {
  readonly objects: Objects;
  readonly #canary: string;
  #isAway = false;
  #probe: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** Works also while the bucket is away, if an earlier node has put the canary. */
  static async open(objects: Objects, database: Database): Promise<Bucket> {
    for (;;) {
      const [row] = await database.query<{ name: string }>(READ_CANARY);
      if (row) return new Bucket(objects, row.name);
      const name = crypto.randomUUID();
      await objects.put(name, CANARY, CANARY.length);
      await database.query(ADD_CANARY, [name]);
    }
  }

  private constructor(objects: Objects, canary: string) {
    this.objects = objects;
    this.#canary = canary;
  }

  get isAway(): boolean {
    return this.#isAway;
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

  #failed(): void {
    if (this.#isAway || this.#isClosed) return;
    this.#isAway = true;
    this.#probeLater();
  }

  #probeLater(): void {
    this.#probe = setTimeout(() => void this.#tryAgain(), STORE.probeMs);
    this.#probe.unref();
  }

  async #tryAgain(): Promise<void> {
    if (await this.canReadCanary()) this.#isAway = false;
    else if (!this.#isClosed) this.#probeLater();
  }

  async canReadCanary(): Promise<boolean> {
    try {
      const content = await this.objects.get(this.#canary, 0, CANARY.length);
      return content !== undefined && CANARY.equals(Buffer.concat(await Array.fromAsync(content)));
    } catch {
      return false;
    }
  }

  /** The canary is not among the rows of objects. */
  isCanary(name: string): boolean {
    return name === this.#canary;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#probe);
    await this.objects.close();
  }
}
