// What `assay forget` and `assay divergences` share: their flags, and the review of a store on this machine.

import { STORE_FLAGS } from '../../client/commands/store-flags.ts';
import { withStore } from '../../client/commands/with-store.ts';
import { storeFolder } from '../../client/local-store/store-folder.ts';
import { remoteToken } from '../../client/remote/token.ts';
import type { FlagTable, ParsedFlags } from '../../core/cli/command.ts';
import { AssayError } from '../../core/errors.ts';
import { refuseIfNoStore } from '../../store/disk/fs/layout.ts';
import type { Review, Store } from '../../store/store.ts';
import { RemoteAdmin } from './admin.ts';

export const REVIEW_FLAGS = {
  ...STORE_FLAGS,
  remote: {
    type: 'string',
    value: 'URL',
    text: 'ask this server instead of a store on this machine; ASSAY_REMOTE is not used',
  },
  namespace: {
    type: 'string',
    value: 'PATH',
    text: 'in this namespace and below it, whatever the protocol',
  },
} satisfies FlagTable;

export const REVIEW_ENVIRONMENT = {
  ASSAY_STORE: 'the local store’s folder',
  ASSAY_TOKEN: 'sent to the server as a Bearer token',
};

/** Undefined without --remote. */
export function remoteOf(parsed: ParsedFlags): RemoteAdmin | undefined {
  const remote = parsed.text('remote');
  if (remote === undefined) return undefined;
  if (parsed.given('store')) throw new AssayError('ASSAY_USAGE', 'give --store or --remote, not both');
  return new RemoteAdmin(remote, remoteToken());
}

/** A server may use the store at the same time. */
export async function reviewLocally<T>(
  parsed: ParsedFlags,
  work: (store: Store, review: Review, folder: string) => Promise<T>,
): Promise<T> {
  const folder = storeFolder(parsed.text('store'), process.env);
  refuseIfNoStore(folder);
  return withStore(folder, (store) => {
    if (!store.review) throw new AssayError('ASSAY_INTERNAL', 'a store on disk can be reviewed');
    return work(store, store.review, folder);
  });
}
