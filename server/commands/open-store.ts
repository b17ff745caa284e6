// Opens the store of a server: in a folder, or by the wing that opens what the settings name instead.
import { AssayError } from '../../core/errors.ts';
import type { OnStoreEvent } from '../../store/events.ts';
import { STORE } from '../../store/limits.ts';
import { openDiskStore } from '../../store/open.ts';
import { refuseFloors } from '../config/accounts.ts';
import type { Settings } from '../config/settings.ts';
import type { Metrics } from '../request/metrics.ts';
import type { EnginePort, OpenedStore } from './engine-port.ts';

export async function openServerStore(
  settings: Settings,
  onEvent: OnStoreEvent,
  metrics: Metrics,
  wings: () => Promise<readonly Partial<EnginePort>[]>,
): Promise<OpenedStore> {
  const { fleet, accounts } = settings;
  if (!fleet) return openFolder(settings, onEvent);
  const port = (await wings()).find(({ openStore }) => openStore !== undefined);
  if (!port?.openStore)
    throw new AssayError(
      'ASSAY_NOT_IN_BUILD',
      '--index and --blobs: this build opens only stores in a folder, not those of a fleet',
    );
  return port.openStore({ fleet, accounts, onEvent, metrics });
}

async function openFolder(
  { storeFolder: folder, maxSize, leaseMs, accounts }: Settings,
  onEvent: OnStoreEvent,
): Promise<OpenedStore> {
  const disk = await openDiskStore({
    directory: folder,
    onEvent,
    commitDelayMs: STORE.serverCommitDelayMs,
    maxSize,
    leaseMs,
    accounts,
  });
  try {
    refuseFloors(accounts, disk.space.limit);
  } catch (error) {
    await disk.close();
    throw error;
  }
  return {
    store: disk,
    disk,
    indexLimit: () => disk.space.limit,
    accounts: disk.holdings.accounts.all,
    folder,
    secret: undefined,
    place: `in ${folder}`,
  };
}
