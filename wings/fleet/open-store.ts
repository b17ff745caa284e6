// What `assay serve` uses of a fleet: its store, with a tier, the accounts and the secret, and its metrics.
// The settings are checked before, without PostgreSQL or the bucket.
import type { EnginePort } from '../../server/commands/engine-port.ts';
import { refuseFloors } from '../../server/config/accounts.ts';
import type { AccountSettings } from '../../store/accounts.ts';
import { STORE } from '../../store/limits.ts';
import { FleetMetrics } from './metrics.ts';
import { openFleetStore } from './open-fleet.ts';

export const openStore: EnginePort['openStore'] = async ({ fleet, accounts, onEvent, metrics }) => {
  refuseFleetFloors(accounts, fleet.maxBytes, '--max-size');
  refuseFleetFloors(accounts, fleet.maxIndexBytes, '--max-index-size');
  const fleetMetrics = metrics.add((registry) => new FleetMetrics(registry));
  const store = await openFleetStore({
    ...fleet,
    accounts,
    environment: process.env,
    onEvent(event) {
      fleetMetrics.storeEvent(event);
      onEvent(event);
    },
    onAnswer: fleetMetrics.answered,
  });
  const { engine, tier } = store;
  fleetMetrics.watch(engine);
  return {
    store,
    disk: tier,
    indexLimit: () => fleet.maxIndexBytes,
    accounts: engine.accounts.all.flatMap((account) => account.uses()),
    folder: fleet.tier?.folder,
    secret: engine.secret,
    place: `${fleet.blobs} with the index ${withoutPassword(fleet.index)}`,
  };
};

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
