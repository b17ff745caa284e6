// The local store, or none: a store that can't be opened is reported, and whoever wanted it goes on without.
import { AssayError, messageOf } from '../../core/errors.ts';
import type { Store } from '../../store/store.ts';
import type { Report } from '../terminal/events.ts';
import { hasOutbox, leaseUnshared } from './outbox.ts';
import { localLimit } from './size-limit.ts';

export async function openUsableStore(storeFolder: string, report: Report): Promise<Store | undefined> {
  try {
    const { openDiskStore } = await import('../../store/open.ts');
    const store = await openDiskStore({
      directory: storeFolder,
      maxSize: localLimit(process.env.ASSAY_MAX_SIZE),
    });
    if (hasOutbox(storeFolder)) await leaseUnshared(storeFolder, store, Date.now()).catch(() => undefined);
    return store;
  } catch (error) {
    report({ type: 'store-unusable', why: whyOf(error) });
    return undefined;
  }
}

function whyOf(error: unknown): string {
  return error instanceof AssayError ? `${error.message}. ${error.entry.hint}` : messageOf(error);
}
