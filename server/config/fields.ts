// The fields of the server's configuration file, in one table. The reader (file.ts) and the JSON schema
// (`npm run generate` writes server.schema.json) come from it.
import {
  type FieldTable,
  FLAG,
  listSchema,
  objectSchema,
  type Schema,
  TEXT,
  TEXTS,
} from '../../core/config/schema.ts';
import { RIGHTS, RIGHTS_BY_NAME } from '../access/rights.ts';
import { LOG_LEVELS } from '../log.ts';
import { RANGES } from './given.ts';
import { ISSUERS_SCHEMA } from './issuer-fields.ts';

function whole([minimum, maximum]: readonly [number, number]): Schema {
  return { type: 'integer', minimum, maximum };
}

/** Sizes by namespace. */
const SIZES: Schema = { type: 'object', additionalProperties: TEXT };

export const LISTEN_FIELDS = {
  host: { text: 'the address to listen on (default 127.0.0.1)', schema: TEXT },
  port: { text: 'the port, 0 for a free one (default 8980)', schema: whole(RANGES.port) },
} as const satisfies FieldTable;

export const TLS_FIELDS = {
  cert: {
    text: 'the certificate (PEM); a renewed file is reloaded within a minute',
    schema: TEXT,
    isRequired: true,
  },
  key: { text: 'its key (PEM)', schema: TEXT, isRequired: true },
  clientCa: { text: 'accept only clients with a certificate that one of these signed (PEM)', schema: TEXT },
} as const satisfies FieldTable;

export const STORE_FIELDS = {
  folder: { text: 'the folder of the store', schema: TEXT },
  index: {
    text: 'instead of a folder: the PostgreSQL of a fleet, postgres://USER:PASSWORD@HOST:PORT/DB',
    schema: TEXT,
  },
  blobs: { text: 'with an index: the bucket of the fleet, s3://BUCKET/PREFIX', schema: TEXT },
  tier: { text: 'with an index: the folder for copies of blobs', schema: TEXT },
  tierSize: { text: 'the size limit of that folder', schema: TEXT },
  maxSize: { text: 'its size limit: "50GB", "8GiB", or a share of the disk such as "80%"', schema: TEXT },
  maxIndexSize: {
    text: 'with an index: the limit of results, labels and small blobs in PostgreSQL, in bytes: "20GB" (default: maxSize)',
    schema: TEXT,
  },
  quotas: {
    text: 'the most that each namespace and all below it may hold: { "acme/pr": "20GB" }, or a share of maxSize such as "25%"',
    schema: SIZES,
  },
  floors: {
    text: 'what each namespace and all below it keep: up to this size nothing of it is evicted for others',
    schema: SIZES,
  },
  lease: {
    text: 'how long a blob or result stays after a response named it, even if the store is full: "3h", "90m"',
    schema: TEXT,
  },
  maxBlob: { text: 'the largest blob to accept, in bytes', schema: whole(RANGES.maxBlob) },
  verifyRate: {
    text: 'verify the whole store once a day in the background, at this many MiB per second (default: never)',
    schema: whole(RANGES.verifyRate),
  },
} as const satisfies FieldTable;

export const ANONYMOUS_FIELDS = {
  namespace: {
    text: 'what such a request reads first, and where it may write',
    schema: TEXT,
    isRequired: true,
  },
  reads: { text: 'what it reads besides, in this order', schema: TEXTS },
  rights: {
    text: `"read", "write", "read-write", or a list of rights: ${RIGHTS.join(', ')}`,
    schema: { anyOf: [{ enum: Object.keys(RIGHTS_BY_NAME) }, listSchema({ enum: [...RIGHTS] })] },
    isRequired: true,
  },
} as const satisfies FieldTable;

export const SERVER_FIELDS = {
  $schema: { text: 'where editors find the schema of this file', schema: TEXT },
  listen: { text: 'where the server listens; a change needs a restart', schema: objectSchema(LISTEN_FIELDS) },
  tls: { text: 'use TLS; a change of these paths needs a restart', schema: objectSchema(TLS_FIELDS) },
  store: { text: 'the store; a change needs a restart', schema: objectSchema(STORE_FIELDS) },
  readOnly: { text: 'refuse all writes; a change needs a restart', schema: FLAG },
  logLevel: { text: 'how much is logged', schema: { enum: [...LOG_LEVELS] } },
  tokens: {
    text: 'the tokens file, which `assay token` makes, relative to this file; changes count within 5 s',
    schema: TEXT,
  },
  anonymous: {
    text: 'what a request without a token may do (default: nothing)',
    schema: objectSchema(ANONYMOUS_FIELDS),
  },
  issuers: { text: 'whose tokens of OpenID Connect are exchanged for short ones', schema: ISSUERS_SCHEMA },
} as const satisfies FieldTable;
