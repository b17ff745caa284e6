// The shelf on which `assay save` puts things and from which `assay restore` takes them, and what both are told.
import { realpathSync, statSync } from 'node:fs';
import { type FlagTable, type ParsedFlags, usage } from '../../core/command.ts';
import { parseNamespace } from '../../core/namespace.ts';
import { type Cache, openCache } from '../cache.ts';
import { Outlet } from '../outlet.ts';
import { parseRemoteUrl } from '../remote/url.ts';
import { Reporter } from '../reporter.ts';
import type { Shelf } from '../snapshot/shelf.ts';
import { storeFolder } from '../store-folder.ts';
import { OLD_TIME } from '../times.ts';
import { STORE_FLAGS } from './store-flags.ts';

const NAMESPACE = parseNamespace('saved');

export const SAVED_FLAGS = {
  in: { type: 'string', value: 'DIR', text: 'the folder that paths are relative to (default: this one)' },
  store: STORE_FLAGS.store,
  remote: { type: 'string', value: 'URL', text: 'a shared cache (default: ASSAY_REMOTE)' },
  json: STORE_FLAGS.json,
} satisfies FlagTable;

export const SAVED_ENVIRONMENT = {
  ASSAY_STORE: 'the local store’s folder',
  ASSAY_REMOTE: 'the remote’s URL; its faults cost no more than the hit',
  ASSAY_TOKEN: 'sent to the remote as a Bearer token',
};

export interface Saved {
  readonly root: string;
  readonly cache: Cache;
  /** Undefined where there is no usable store. */
  readonly shelf: Shelf | undefined;
}

/** Opens everything for `work`, and closes it. */
export async function withSaved<T>(parsed: ParsedFlags, work: (saved: Saved) => Promise<T>): Promise<T> {
  const root = rootFolder(parsed.text('in') ?? '.');
  const remote = parsed.text('remote') ?? process.env.ASSAY_REMOTE;
  const { report } = new Reporter(new Outlet(2), false);
  const cache = openCache({
    storeFolder: storeFolder(parsed.text('store'), process.env),
    workspace: root,
    remoteUrl: remote ? parseRemoteUrl(remote) : undefined,
    token: process.env.ASSAY_TOKEN,
    now: Date.now,
    report,
  });
  try {
    return await work({
      root,
      cache,
      shelf: await cache.openShelf({ namespace: NAMESPACE, time: OLD_TIME }),
    });
  } finally {
    await cache.close();
  }
}

function rootFolder(folder: string): string {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw usage(`--in ${folder} is not a folder`);
  return realpathSync(folder);
}

/** The label, which stands first. */
export function labelIn(parsed: ParsedFlags, form: string): string {
  const [label] = parsed.positionals;
  if (!label) throw usage(`the key stands first: ${form}`);
  return label;
}
