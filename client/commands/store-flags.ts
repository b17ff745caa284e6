// The flags of every command that uses the local store.
import type { FlagTable } from '../../core/cli/command.ts';

export const STORE_FLAGS = {
  store: {
    type: 'string',
    value: 'DIR',
    text: 'the local store (default: ASSAY_STORE, or the user’s cache folder)',
  },
  json: { type: 'boolean', text: 'print one JSON object on standard output' },
} satisfies FlagTable;

/** The same flags, and that of the remote. */
export const REMOTE_FLAGS = {
  store: STORE_FLAGS.store,
  remote: { type: 'string', value: 'URL', text: 'a shared cache (default: ASSAY_REMOTE)' },
  json: STORE_FLAGS.json,
} satisfies FlagTable;

export const REMOTE_ENVIRONMENT = {
  ASSAY_STORE: 'the local store’s folder',
  ASSAY_REMOTE: 'the remote’s URL',
  ASSAY_TOKEN: 'sent to the remote as a Bearer token',
};
