// What happens when the bucket gives wrong bytes: the read is a miss, and the blob stays.
//
// Invariants:
// W1 A blob is removed as damaged only if this node reads wrong bytes again, FLEET.lostAfterMs after the first time, and
//    then another node reads wrong bytes too. A cable, a proxy or a bad memory beside one node removes nothing.
// W2 If no other node has looked for FLEET.aloneMs, a third look of the same node decides: a fleet may have one node.
// W3 Meanwhile this node calls the blob missing, so that clients send it again. Their put replaces its objects
//    (blobs.ts, F4).
import type { Hash } from '../../../core/digest.ts';
import { decodeChecksums } from '../../../store/shared/checksum.ts';
import { FLEET } from '../limits.ts';
import type { Bucket } from './bucket.ts';
import type { Database, Statement } from './index/database.ts';
import type { FleetClock } from './index/logical-clock.ts';
import { NoSuchObject, type ObjectList, readChunks, WrongChunk } from './object-reader.ts';

const ACCUSE: Statement = {
  name: 'suspect add',
  text: `
    INSERT INTO assay.suspect (hash, generation, node, tick)
    SELECT $1, $2::int8, $3::uuid, tick FROM assay.clock ON CONFLICT DO NOTHING`,
};

/** Those of other nodes, those that are old, and those whose blob has changed: these have no columns of content. */
const OPEN: Statement = {
  name: 'suspect open',
  text: `
    SELECT encode(s.hash, 'hex') AS hash, s.generation, p.size, k.checksums, k.objects::text[] AS names, k.lengths
    FROM assay.clock c, assay.suspect s
    LEFT JOIN assay.presence p ON p.hash = s.hash AND p.generation = s.generation
    LEFT JOIN assay.content k ON k.hash = p.hash AND k.generation = p.generation
    WHERE s.node <> $1::uuid OR s.tick < c.tick - $2::int8 OR p.hash IS NULL LIMIT ${FLEET.janitorRows}`,
};

const OWN: Statement = {
  name: 'suspect own',
  text: `SELECT encode(hash, 'hex') AS hash FROM assay.suspect WHERE node = $1::uuid`,
};

const CLOSE: Statement = {
  name: 'suspect close',
  text: 'DELETE FROM assay.suspect WHERE hash = $1 AND generation = $2',
};

interface OpenCase {
  readonly hash: Hash;
  readonly generation: number;
  readonly size: number | null;
  readonly checksums: Buffer | null;
  readonly names: string[] | null;
  readonly lengths: number[] | null;
}

interface Suspect {
  readonly generation: number;
  readonly timer: NodeJS.Timeout;
  isAccused: boolean;
}

interface WrongObjectsParts {
  readonly database: Database;
  readonly bucket: Bucket;
  readonly clock: FleetClock;
  readonly remove: (hash: Hash, generation: number, detail: string) => Promise<void>;
  readonly waitMs?: number | undefined;
}

export class WrongObjects {
  readonly #parts: WrongObjectsParts;
  readonly #node = crypto.randomUUID();
  readonly #suspects = new Map<Hash, Suspect>();

  constructor(parts: WrongObjectsParts) {
    this.#parts = parts;
  }

  /** True while this node has reason to doubt that generation, or any. */
  isSuspect(hash: Hash, generation?: number): boolean {
    const suspect = this.#suspects.get(hash);
    return suspect !== undefined && (generation === undefined || generation === suspect.generation);
  }

  get hasSuspects(): boolean {
    return this.#suspects.size > 0;
  }

  /** The blob was replaced or is gone. */
  forget(hash: Hash): void {
    clearTimeout(this.#suspects.get(hash)?.timer);
    this.#suspects.delete(hash);
  }

  /** Reads all of it again, later. */
  suspect(hash: Hash, generation: number, list: ObjectList): void {
    if (this.isSuspect(hash, generation) || this.#suspects.size >= FLEET.maxSuspects) return;
    this.forget(hash);
    const look = async (): Promise<void> => {
      if (!(await this.#isWrong(list))) return this.forget(hash);
      await this.#parts.database.query(ACCUSE, [Buffer.from(hash, 'hex'), generation, this.#node]);
      suspect.isAccused = true;
    };
    // A bucket or a PostgreSQL that fails says nothing about the blob.
    const timer = setTimeout(
      () => void look().catch(() => this.forget(hash)),
      this.#parts.waitMs ?? FLEET.lostAfterMs,
    );
    timer.unref();
    const suspect: Suspect = { generation, timer, isAccused: false };
    this.#suspects.set(hash, suspect);
  }

  /** Looks at what other nodes accuse, and at what nobody else has looked at for long. */
  async judge(): Promise<void> {
    const { database, clock, remove } = this.#parts;
    const open = await database.query<OpenCase>(OPEN, [this.#node, clock.ticksFor(FLEET.aloneMs)]);
    for (const accused of open) {
      const { hash, generation } = accused;
      const list = listOf(accused);
      const isWrong = list && (await this.#isWrong(list).catch(() => undefined));
      if (list && isWrong === undefined) continue;
      if (isWrong) await remove(hash, generation, 'several looks at its object found wrong bytes');
      await database.query(CLOSE, [Buffer.from(hash, 'hex'), generation]);
    }
    await this.#forgetClosed();
  }

  /** What another node has looked at is decided. */
  async #forgetClosed(): Promise<void> {
    const accused = [...this.#suspects].filter(([, { isAccused }]) => isAccused).map(([hash]) => hash);
    if (accused.length === 0) return;
    const rows = await this.#parts.database.query<{ hash: Hash }>(OWN, [this.#node]);
    const open = new Set(rows.map(({ hash }) => hash));
    for (const hash of accused) if (!open.has(hash)) this.forget(hash);
  }

  /** Throws if the bucket fails. An object that it does not have is lost (lost-objects.ts), not wrong. */
  async #isWrong(list: ObjectList): Promise<boolean> {
    try {
      for await (const _ of readChunks(this.#parts.bucket, list, 0, list.checksums.length));
      return false;
    } catch (error) {
      if (error instanceof WrongChunk || error instanceof NoSuchObject) return error instanceof WrongChunk;
      throw error;
    }
  }

  close(): void {
    for (const hash of [...this.#suspects.keys()]) this.forget(hash);
  }
}

function listOf({ size, checksums, names, lengths }: OpenCase): ObjectList | undefined {
  if (size === null || !checksums || !names || !lengths) return undefined;
  const decoded = decodeChecksums(checksums, size);
  return decoded && { size, checksums: decoded, names, lengths };
}
