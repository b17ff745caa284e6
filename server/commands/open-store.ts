// Opens the store of a server: in a folder, or the PostgreSQL and the bucket of a fleet.
import type { AccountSettings, AccountUse } from '../../store/accounts.ts';
import type { OnStoreEvent } from '../../store/events.ts';
import { STORE } from '../../store/limits.ts';
import { type DiskStore, openDiskStore } from '../../store/open.ts';
import type { Store } from '../../store/store.ts';
import { refuseFloors } from '../config/accounts.ts';
import type { Settings } from '../config/settings.ts';
import type { Metrics } from '../pages/metrics.ts';

export interface OpenedStore {
  readonly store: Store;
  /** What is on this disk: the store itself, or the tier of a fleet. It is swept and reconciled. */
  readonly disk: DiskStore | undefined;
  /** What the namespaces with a quota or a floor hold. */
  readonly accounts: readonly AccountUse[];
  /** Where the server may keep files of its own. */
  readonly folder: string | undefined;
  /** The secret of a fleet. Undefined: this server has one of its own. */
  readonly secret: (() => Buffer) | undefined;
  /** For the start message. */
  readonly place: string;
}

export async function openStore(
  settings: Settings,
  onEvent: OnStoreEvent,
  metrics: Metrics,
): Promise<OpenedStore> {
  const { fleet, storeFolder: folder } = settings;
  if (!fleet) {
    const disk = await openDiskStore({
      directory: folder,
      onEvent,
      commitDelayMs: STORE.serverCommitDelayMs,
      maxSize: settings.maxSize,
      leaseMs: settings.leaseMs,
      accounts: settings.accounts,
    });
    try {
      refuseFloors(settings.accounts, disk.space.limit);
    } catch (error) {
      await disk.close();
      throw error;
    }
    return {
      store: disk,
      disk,
      accounts: disk.holdings.accounts.all,
      folder,
      secret: undefined,
      place: `in ${folder}`,
    };
  }
  refuseFleetFloors(settings.accounts, fleet.maxBytes, '--max-size');
  refuseFleetFloors(settings.accounts, fleet.maxIndexBytes, '--max-index-size');
  const { openFleetStore } = await import('../../store/open-fleet.ts');
  const onAnswer = metrics.fleet.answered;
  const store = await openFleetStore({
    ...fleet,
    accounts: settings.accounts,
    environment: process.env,
    onEvent,
    onAnswer,
  });
  metrics.fleet.watch(store.engine);
  const place = `${fleet.blobs} with the index ${withoutPassword(fleet.index)}`;
  const accounts = store.engine.accounts.all.flatMap((account) => account.uses());
  return {
    store,
    disk: store.tier,
    accounts,
    folder: fleet.tier?.folder,
    secret: store.engine.secret,
    place,
  };
}

/** Eviction must be able to reach its target beside the floors. */
function refuseFleetFloors(accounts: readonly AccountSettings[], limit: number, flag: string): void {
  const most = { bytes: Math.floor(limit * STORE.evictTo), name: `${100 * STORE.evictTo} % of ${flag}` };
  refuseFloors(accounts, limit, most);
}

function withoutPassword(index: string): string {
  const url = URL.parse(index);
  if (!url) return 'of --index';
  url.password = '';
  url.username = '';
  url.search = '';
  return url.href;
}
