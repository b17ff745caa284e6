// The flags of `assay serve`. Most of them can be fields of the configuration file instead (fields.ts).
import type { FlagTable } from '../../core/cli/command.ts';
import { STORE } from '../../store/limits.ts';
import { SERVER } from '../limits.ts';
import { LOG_LEVELS } from '../log.ts';

export const SERVE_FLAGS = {
  host: { type: 'string', value: 'HOST', text: 'the address to listen on (default 127.0.0.1)' },
  port: { type: 'string', value: 'PORT', text: 'the port, 0 for a free one (default 8980)' },
  store: {
    type: 'string',
    value: 'DIR',
    text: 'the folder of the store (default $XDG_CACHE_HOME/assay/server)',
  },
  index: {
    type: 'string',
    value: 'URL',
    text: 'instead of --store: the PostgreSQL that all servers of a fleet share,\npostgres://USER:PASSWORD@HOST:PORT/DB (`assay help fleet`); better in ASSAY_INDEX',
  },
  blobs: {
    type: 'string',
    value: 'URL',
    text: 'with --index: the bucket of the fleet, s3://BUCKET/PREFIX',
  },
  tier: {
    type: 'string',
    value: 'DIR',
    text: 'with --index: keep copies of blobs in this folder; all of it may be deleted',
  },
  'tier-size': {
    type: 'string',
    value: 'SIZE',
    text: `the size limit of --tier (default ${100 * STORE.serverShare}%)`,
  },
  config: {
    type: 'string',
    value: 'FILE',
    text: 'read the settings from this file, JSON with comments (`assay help server`); SIGHUP reads it again.\nA setting may be in the file or on the command line, not both',
  },
  tokens: {
    type: 'string',
    value: 'FILE',
    text: 'accept the tokens of this file, which `assay token` makes; changes count within 5 s',
  },
  'read-only': { type: 'boolean', text: 'refuse all writes' },
  'tls-cert': {
    type: 'string',
    value: 'FILE',
    text: 'use TLS with this certificate (PEM); a renewed file\nis reloaded within a minute, without a restart',
  },
  'tls-key': { type: 'string', value: 'FILE', text: 'the key of --tls-cert (PEM)' },
  'tls-client-ca': {
    type: 'string',
    value: 'FILE',
    text: 'accept only clients with a certificate that one of these signed (PEM)',
  },
  'max-blob': {
    type: 'string',
    value: 'BYTES',
    text: `the largest blob to accept (default ${SERVER.maxBlobBytes})`,
  },
  'max-size': {
    type: 'string',
    value: 'SIZE',
    text: `the size limit of the store: 50GB, 8GiB, or a share of the disk (default ${100 * STORE.serverShare}%);\nthe least recently used entries are evicted first. With --index: of the bytes in the bucket of the fleet (default none)`,
  },
  'max-index-size': {
    type: 'string',
    value: 'SIZE',
    text: 'with --index: the limit of results, labels and small blobs in PostgreSQL, in bytes (default: --max-size)',
  },
  quota: {
    type: 'string',
    multiple: true,
    value: 'NAMESPACE=SIZE',
    text: `the most that a namespace and all below it may hold: acme/pr=20GB, or a share of --max-size, acme=50%.\nAt its quota it evicts its own. Without one, the pull requests of all issuers have ${100 * SERVER.pullRequestShare}% together`,
  },
  floor: {
    type: 'string',
    multiple: true,
    value: 'NAMESPACE=SIZE',
    text: 'what a namespace and all below it keep: up to this size nothing of it is evicted for others',
  },
  lease: {
    type: 'string',
    value: 'TIME',
    text: 'how long a blob or result stays after a response named it, even if the store is full (default 3h)',
  },
  'verify-rate': {
    type: 'string',
    value: 'MIB',
    text: 'verify the whole store once a day in the background, at this many MiB per second (default: never)',
  },
  'log-level': {
    type: 'string',
    value: 'LEVEL',
    text: `${LOG_LEVELS.join(', ')} (default info, or warn on a terminal)`,
  },
} as const satisfies FlagTable;

export type ServeFlag = keyof typeof SERVE_FLAGS;
