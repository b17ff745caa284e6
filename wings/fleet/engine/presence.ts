// Which blobs are present, and their leases: the answers to FindMissing.
//
// Invariants:
// P1 Present means: `presence` has the row with that size, for that tenant, and its stamp is fresh now. A stale
//    stamp is renewed before the answer; a blob whose stamp could not be renewed is asked for again.
// P2 Stamps are renewed in the order of the hashes, so that two nodes that renew the same blobs do not wait for
//    each other in a circle.
// P3 A node remembers at most for `memoMs` that a blob is present, never that one is absent. It forgets all
//    when the connection to PostgreSQL is lost.
// P4 No answer asks the bucket.
import type { Digest, Hash } from '../../../core/digest.ts';
import { FLEET } from '../limits.ts';
import { type Database, hashArray, numberArray, type Statement } from './index/database.ts';
import { FRESH_TICKS } from './index/logical-clock.ts';
import { EVERY_TENANT, NO_TENANT } from './tenants.ts';

/** Returns only what is absent or stale: usually nothing, and then the answer is short. */
const ASK: Statement = {
  name: 'presence ask',
  text: `
    SELECT a.n::int AS number, p.hash IS NOT NULL AS "isStale"
    FROM assay.clock c, unnest($1::bytea[], $2::int8[]) WITH ORDINALITY AS a(hash, size, n)
    LEFT JOIN assay.presence p
      ON p.hash = a.hash AND p.size = a.size AND ($3::int = ${EVERY_TENANT} OR $3 = ANY (p.tenants))
    WHERE p.hash IS NULL OR p.tick <= c.tick - ${FRESH_TICKS}`,
};

const RENEW: Statement = {
  name: 'presence renew',
  text: `
    WITH stale AS (
      SELECT p.hash FROM assay.presence p, assay.clock c
      WHERE p.hash = ANY ($1::bytea[]) AND p.tick <= c.tick - ${FRESH_TICKS}
        AND ($2::int = ${EVERY_TENANT} OR $2 = ANY (p.tenants))
      ORDER BY p.hash
      FOR NO KEY UPDATE OF p
    )
    UPDATE assay.presence p SET tick = c.tick FROM stale, assay.clock c WHERE p.hash = stale.hash`,
};

/** A reference of a result, with what the statement that read the result found out about the blob. */
export class SeenDigest implements Digest {
  readonly hash: Hash;
  readonly size: number;
  /** Undefined if the blob was absent, had another size, or was stale. */
  readonly tenants: readonly number[] | undefined;
  readonly at: number;

  constructor({ hash, size }: Digest, tenants: readonly number[] | undefined, at: number) {
    this.hash = hash;
    this.size = size;
    this.tenants = tenants;
    this.at = at;
  }
}

export class BlobPresence {
  readonly #database: Database;
  readonly #now: () => number;
  readonly #memoMs: () => number;
  /** By tenant and hash: the size, and the time before the question. The oldest comes first. */
  readonly #memo = new Map<string, { readonly size: number; readonly at: number }>();

  constructor(database: Database, now: () => number, memoMs: () => number) {
    this.#database = database;
    this.#now = now;
    this.#memoMs = memoMs;
  }

  /** Those that are absent for the tenant, in order. Leases the others. */
  async missing(digests: readonly Digest[], tenant: number): Promise<Digest[]> {
    if (tenant === NO_TENANT) return [...digests];
    const asked = digests.filter((digest) => !this.#isKnown(digest, tenant));
    const absent = await this.#ask(asked, tenant);
    return absent.size === 0 ? [] : asked.filter((digest) => absent.has(digest));
  }

  /** The same for everyone, without what is remembered. */
  async missingNow(digests: readonly Digest[]): Promise<readonly Digest[]> {
    return [...(await this.#ask(digests, EVERY_TENANT))];
  }

  async #ask(digests: readonly Digest[], tenant: number): Promise<Set<Digest>> {
    const absent = new Set<Digest>();
    for (let asked = digests; asked.length > 0; ) {
      const at = this.#now();
      const rows = await this.#database.query<{ number: number; isStale: boolean }>(ASK, [
        hashArray(asked.map(({ hash }) => hash)),
        numberArray(asked.map(({ size }) => size)),
        tenant,
      ]);
      const stale: Digest[] = [];
      const others = new Set<Digest>();
      for (const { number, isStale } of rows) {
        const digest = asked[number - 1];
        if (!digest) continue;
        others.add(digest);
        if (isStale) stale.push(digest);
        else absent.add(digest);
      }
      for (const digest of asked) if (!others.has(digest)) this.#remember(digest, tenant, at);
      if (stale.length > 0)
        await this.renew(
          stale.map(({ hash }) => hash),
          tenant,
        );
      asked = stale;
    }
    return absent;
  }

  /** Leases those that are present for the tenant. */
  async renew(hashes: readonly Hash[], tenant: number = EVERY_TENANT): Promise<void> {
    if (hashes.length > 0 && tenant !== NO_TENANT)
      await this.#database.query(RENEW, [hashArray(hashes), tenant]);
  }

  /** A put has just made it present. */
  added(digest: Digest, tenant: number, at: number): void {
    this.#remember(digest, tenant, at);
  }

  #isKnown(digest: Digest, tenant: number): boolean {
    const now = this.#now();
    if (digest instanceof SeenDigest && now - digest.at < FLEET.seenMs)
      return digest.tenants !== undefined && (tenant === EVERY_TENANT || digest.tenants.includes(tenant));
    const memoMs = this.#memoMs();
    if (memoMs === 0) return false;
    const known = this.#memo.get(memoKey(digest.hash, tenant));
    return known !== undefined && known.size === digest.size && now - known.at < memoMs;
  }

  #remember({ hash, size }: Digest, tenant: number, at: number): void {
    if (this.#memoMs() === 0) return;
    const key = memoKey(hash, tenant);
    this.#memo.delete(key);
    this.#memo.set(key, { size, at });
    if (this.#memo.size <= FLEET.presenceMemoBlobs) return;
    for (const oldest of this.#memo.keys().take(1)) this.#memo.delete(oldest);
  }

  /** Of a blob that this node has removed, or of all. */
  forget(): void {
    this.#memo.clear();
  }
}

function memoKey(hash: Hash, tenant: number): string {
  return `${tenant} ${hash}`;
}
