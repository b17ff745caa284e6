// Opens the local store for one command and closes it.
import { openDiskStore } from '../../store/open.ts';
import type { Store } from '../../store/store.ts';

export async function withStore<T>(folder: string, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await openDiskStore({ directory: folder });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
