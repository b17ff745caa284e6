// The rows of uploads in parts, and which node may add to them.
//
// Each append takes the upload over by a new `owner`. A part of an earlier owner, here or on another node, can't be
// recorded any more. Owners are random: a sequence could give a number twice after a failover to a standby that lacks
// the tail.
import { randomInt } from 'node:crypto';
import type { Hash } from '../../../core/digest.ts';
import type { Expected } from '../../../store/store.ts';
import { bytesOf } from './blobs.ts';
import type { Database, Statement } from './index/database.ts';
import { CONDEMNED, PART, UPLOADING } from './index/object-rows.ts';

const FIND: Statement = {
  name: 'upload find',
  text: `
    SELECT committed, encode(hash, 'hex') AS hash, size, owner FROM assay.upload
    WHERE tenant = $1 AND id = $2`,
};

const BEGIN: Statement = {
  name: 'upload begin',
  text: `
    INSERT INTO assay.upload (tenant, id, owner, hash, size, committed, tick, holder)
    SELECT $1, $2, $5, $3, $4, 0, tick, $6::int FROM assay.clock
    ON CONFLICT DO NOTHING RETURNING owner`,
};

const TAKE_OVER: Statement = {
  name: 'upload take over',
  text: `
    UPDATE assay.upload u SET owner = $5, tick = c.tick FROM assay.clock c
    WHERE tenant = $1 AND id = $2 AND owner = $3 AND committed = $4 RETURNING owner`,
};

/** `$3` owner, `$4` position, `$5` length, `$6` checksums, `$7` bytes, `$8` object. */
const ADD_PART: Statement = {
  name: 'upload add part',
  text: `
    WITH mine AS (
        UPDATE assay.upload u SET committed = committed + $5, tick = c.tick FROM assay.clock c
        WHERE tenant = $1 AND id = $2 AND owner = $3 AND committed = $4 RETURNING u.id
      ),
      kept AS (
        UPDATE assay.object o SET state = ${PART} FROM mine
        WHERE o.name = $8::uuid AND o.state = ${UPLOADING} RETURNING o.name
      ),
      part AS (
        INSERT INTO assay.upload_part (tenant, id, position, length, checksums, bytes, object)
        SELECT $1, $2, $4, $5, $6, $7, $8::uuid FROM mine
      )
    SELECT ($8::uuid IS NULL OR EXISTS (SELECT FROM kept)) AS "isKept" FROM mine`,
};

const DROP: Statement = {
  name: 'upload drop',
  text: `
    WITH gone AS (DELETE FROM assay.upload WHERE tenant = $1 AND id = $2 AND owner = $3 RETURNING tenant, id),
      parts AS (
        SELECT p.object FROM assay.upload_part p, gone
        WHERE p.tenant = gone.tenant AND p.id = gone.id AND p.object IS NOT NULL
      ),
      condemned AS (
        UPDATE assay.object o SET state = ${CONDEMNED}, tick = c.tick FROM parts, assay.clock c
        WHERE o.name = parts.object AND o.state = ${PART}
      )
    SELECT id FROM gone`,
};

const PARTS: Statement = {
  name: 'upload parts',
  text: `
    SELECT p.position, p.length, p.checksums, p.bytes, p.object::text FROM assay.upload_part p
    WHERE p.tenant = $1 AND p.id = $2 ORDER BY p.position`,
};

export interface FleetUploadRow {
  readonly committed: number;
  readonly hash: Hash | null;
  readonly size: number | null;
  readonly owner: number;
}

/** A part: its bytes, or the object that has them. */
export interface PartRow {
  readonly position: number;
  readonly length: number;
  readonly checksums: Buffer;
  readonly bytes: Buffer | null;
  readonly object: string | null;
}

/** An upload, as its owner names it. */
export interface UploadKey {
  readonly tenant: number;
  readonly id: string;
  readonly owner: number;
}

export class UploadRows {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async find(tenant: number, id: string): Promise<FleetUploadRow | undefined> {
    const [row] = await this.#database.query<FleetUploadRow>(FIND, [tenant, id]);
    return row;
  }

  /** The owner of a new upload. Undefined if another node was first. */
  async begin(
    tenant: number,
    id: string,
    { hash, size }: Expected,
    holder: number | undefined,
  ): Promise<number | undefined> {
    const expected = [hash === undefined ? null : bytesOf(hash), size ?? null];
    const values = [tenant, id, ...expected, newOwner(), holder ?? null];
    const [row] = await this.#database.query<{ owner: number }>(BEGIN, values);
    return row?.owner;
  }

  /** The new owner. Undefined if the upload has changed since it was read. */
  async takeOver({ tenant, id, owner }: UploadKey, committed: number): Promise<number | undefined> {
    const values = [tenant, id, owner, committed, newOwner()];
    const [row] = await this.#database.query<{ owner: number }>(TAKE_OVER, values);
    return row?.owner;
  }

  /** `superseded`: another append owns the upload. `given up`: the part's object is no longer its own. */
  async addPart(
    { tenant, id, owner }: UploadKey,
    { position, length, checksums, bytes, object }: PartRow,
  ): Promise<'added' | 'superseded' | 'given up'> {
    const values = [tenant, id, owner, position, length, checksums, bytes, object];
    const [row] = await this.#database.query<{ isKept: boolean }>(ADD_PART, values);
    if (!row) return 'superseded';
    return row.isKept ? 'added' : 'given up';
  }

  parts(tenant: number, id: string): Promise<PartRow[]> {
    return this.#database.query<PartRow>(PARTS, [tenant, id]);
  }

  /** Its objects are condemned in the same statement. */
  async drop({ tenant, id, owner }: UploadKey): Promise<void> {
    await this.#database.query(DROP, [tenant, id, owner]);
  }
}

function newOwner(): number {
  return randomInt(2 ** 47);
}
