// Action leases in the memory of this process. A restart begins a new epoch.
import { type Fence, fenceStep } from '../../../../core/action-lease.ts';
import type {
  LeaseAddress,
  LeaseReading,
  LeaseRecord,
  LeaseRecords,
  UnchangedLease,
} from '../../../../store/action-leases.ts';

export class MemoryLeases implements LeaseRecords {
  readonly #now: () => number;
  readonly #epoch: number;
  readonly #kept = new Map<string, LeaseRecord>();
  #number = 0;

  constructor(now: () => number) {
    this.#now = now;
    this.#epoch = Math.floor(now() / 1000);
  }

  isUnchanged(lease: UnchangedLease | undefined): boolean {
    return !lease || this.#kept.get(nameOf(lease.address)) === lease.record;
  }

  async get(addresses: readonly LeaseAddress[]): Promise<LeaseReading> {
    return { now: this.#now(), records: addresses.map((address) => this.#kept.get(nameOf(address))) };
  }

  async put(
    address: LeaseAddress,
    record: LeaseRecord,
    replacing: LeaseRecord | undefined,
  ): Promise<boolean> {
    if (this.#kept.get(nameOf(address)) !== replacing) return false;
    this.#kept.set(nameOf(address), { ...record });
    return true;
  }

  async nextFence(): Promise<Fence> {
    this.#number += fenceStep();
    return { epoch: this.#epoch, number: this.#number };
  }

  async removeBefore(until: number, most: number): Promise<number> {
    const old = [...this.#kept].filter(([, record]) => record.until < until).slice(0, most);
    for (const [name] of old) this.#kept.delete(name);
    return old.length;
  }
}

function nameOf({ namespace, key }: LeaseAddress): string {
  return `${namespace}\0${key}`;
}
