// Opens the local store. A store that cannot be opened is reported, and the run goes on without it.
import { AssayError, messageOf } from '../../core/errors.ts';
import { STORE } from '../../store/limits.ts';
import { parseSizeLimit, type SizeLimit } from '../../store/size-limit.ts';
import type { Store } from '../../store/store.ts';
import type { Report } from '../terminal/events.ts';
import { hasOutbox, leaseUnshared } from './outbox.ts';

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

/** The size limit of the local store: ASSAY_MAX_SIZE, else a share of the disk with an upper bound. */
export function localLimit(text: string | undefined): SizeLimit {
  if (text) return parseSizeLimit('ASSAY_MAX_SIZE', text);
  return { bytes: STORE.clientBytes, share: STORE.clientShare };
}

function whyOf(error: unknown): string {
  return error instanceof AssayError ? `${error.message}. ${error.entry.hint}` : messageOf(error);
}
