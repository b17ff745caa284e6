// The flags of commands that look into the local store, and the store opened for as long as they look.
import type { FlagTable } from '../../core/command.ts';
import { openDiskStore } from '../../store/stack.ts';
import type { Store } from '../../store/store.ts';

export const STORE_FLAGS = {
  store: {
    type: 'string',
    value: 'DIR',
    text: 'the local store (default: ASSAY_STORE, or the user’s cache folder)',
  },
  json: { type: 'boolean', text: 'one JSON object on standard output' },
} satisfies FlagTable;

export async function withStore<T>(folder: string, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await openDiskStore({ directory: folder });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
