// The port Engine: how a wing opens a store that is not in a folder of this server's disk.
// A server asks for it only when its settings name such a store.
import type { AccountSettings, AccountUse } from '../../store/accounts.ts';
import type { OnStoreEvent } from '../../store/events.ts';
import type { DiskStore } from '../../store/open.ts';
import type { Store } from '../../store/store.ts';
import type { FleetSettings } from '../config/settings.ts';
import type { Metrics } from '../request/metrics.ts';

/** The field of a wing's record. */
export interface EnginePort {
  readonly openStore: (request: StoreRequest) => Promise<OpenedStore>;
}

interface StoreRequest {
  readonly fleet: FleetSettings;
  readonly accounts: readonly AccountSettings[];
  readonly onEvent: OnStoreEvent;
  readonly metrics: Metrics;
}

export interface OpenedStore {
  readonly store: Store;
  /** What is on this disk: the store itself, or the tier of a fleet. It is swept and reconciled. */
  readonly disk: DiskStore | undefined;
  /** The limit of the bytes in the index, which the history shares. */
  readonly indexLimit: () => number;
  /** What the namespaces with a quota or a floor hold. */
  readonly accounts: readonly AccountUse[];
  /** Where the server may keep files of its own. */
  readonly folder: string | undefined;
  /** The secret of a fleet. Undefined: this server has one of its own. */
  readonly secret: (() => Buffer) | undefined;
  /** For the start message. */
  readonly place: string;
}
