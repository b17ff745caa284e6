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
