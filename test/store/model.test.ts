// Compares the store with a model made of a few Maps: random operations, and every answer must agree. Two
// handles on one folder take turns, like two processes, and from time to time everything unused is evicted.
// Each operation is that of the store itself or of one of two tenants.
import { afterEach, expect, test } from 'vitest';
import { type Digest, digestOf, type Hash } from '../../core/digest.ts';
import { DEFAULT_NAMESPACE } from '../../core/namespace.ts';
import { type DiskStore, openDiskStore } from '../../store/open.ts';
import type { Store } from '../../store/store.ts';
import { keepFigures } from '../rig/figures.ts';
import { Random } from '../rig/random.ts';
import { soak } from '../rig/soak.ts';
import { addressOf, resultNaming } from './content.ts';
import { makeFolder, removeFolder } from './folders.ts';

const SEED = Number(process.env.ASSAY_TEST_SEED ?? 1_000);
const SEEDS = soak(100, 20);
const OPERATIONS = 10_000;
const [BLOBS, KEYS, LABELS] = [60, 40, 20];
const LEASE = 1_000_000;
const LONG = 2 * LEASE;

const ITSELF = 'the store itself';
type Tenant = typeof ITSELF | 'a' | 'b';

interface Result {
  readonly bytes: Buffer;
  readonly named: readonly number[];
}

class Model {
  readonly random: Random;
  /** The tenants that have put each. */
  readonly blobs = new Map<number, Set<Tenant>>();
  readonly results = new Map<number, Result>();
  /** In the order in which they were put. */
  readonly labels = new Map<number, number>();
  readonly contents: readonly Buffer[];
  readonly digests: readonly Digest[];
  readonly stores: readonly DiskStore[];
  readonly passTime: () => void;
  operations = 0;

  constructor(seed: number, stores: readonly DiskStore[], passTime: () => void) {
    this.random = new Random(seed);
    this.stores = stores;
    this.passTime = passTime;
    this.contents = Array.from({ length: BLOBS }, (_, index) => Buffer.from(`blob ${seed} ${index}`));
    this.digests = this.contents.map(digestOf);
  }

  get store(): DiskStore {
    return this.random.pick(this.stores);
  }

  get tenant(): Tenant {
    return this.random.pick<Tenant>([ITSELF, 'a', 'b']);
  }

  viewOf(tenant: Tenant): Store {
    return tenant === ITSELF ? this.store : this.store.tenant(tenant);
  }

  has(tenant: Tenant, index: number): boolean {
    return this.blobs.get(index)?.has(tenant) ?? false;
  }

  /** Undefined also if the tenant lacks a blob that it names. */
  resultFor(tenant: Tenant, key: number): Result | undefined {
    const result = this.results.get(key);
    return result?.named.every((index) => this.has(tenant, index)) ? result : undefined;
  }

  digest(index: number): Digest {
    return this.digests[index] ?? this.digests[0] ?? digestOf(Buffer.alloc(0));
  }

  async writeSome(): Promise<void> {
    const blobs = this.random.shuffled([...this.contents.keys()]).slice(0, 12);
    const keys = this.random.shuffled(Array.from({ length: KEYS }, (_, key) => key)).slice(0, 6);
    await Promise.all(blobs.map((index) => this.putBlob(index)));
    await Promise.all(keys.map((key) => this.putResult(key)));
    await this.putLabel(this.random.below(LABELS), this.random.below(KEYS));
  }

  async putBlob(index: number): Promise<void> {
    this.operations++;
    const isWrong = this.random.below(8) === 0;
    const bytes = isWrong ? Buffer.from('wrong') : (this.contents[index] ?? Buffer.alloc(0));
    const tenant = this.tenant;
    const put = this.viewOf(tenant).blobs.put(this.digest(index), bytes);
    if (isWrong) return expect(put).rejects.toThrow(/ASSAY_SIZE_MISMATCH/);
    expect(await put).toEqual(this.digest(index));
    this.blobs.set(index, new Set([...(this.blobs.get(index) ?? []), ITSELF, tenant]));
  }

  async putResult(key: number): Promise<void> {
    this.operations++;
    const named = Array.from({ length: 1 + this.random.below(3) }, () => this.random.below(BLOBS));
    const bytes = resultNaming(...named.map((index) => this.digest(index)));
    const replace = this.random.below(4) === 0;
    const tenant = this.tenant;
    const put = this.viewOf(tenant).results.put(addressOf(`${key}`), bytes, { replace });
    if (named.some((index) => !this.has(tenant, index)))
      return expect(put).rejects.toThrow(/ASSAY_RESULT_INCOMPLETE/);
    const first = this.resultFor(tenant, key);
    const ofOther = replace ? 'replaced' : 'diverged';
    const ofSame = replace ? 'stored' : 'unchanged';
    expect(await put).toBe(first ? (first.bytes.equals(bytes) ? ofSame : ofOther) : 'stored');
    if (!first || replace) this.results.set(key, { bytes, named });
  }

  async putLabel(label: number, key: number): Promise<void> {
    this.operations++;
    const address = { namespace: DEFAULT_NAMESPACE, label: `label-${label}` };
    const tenant = this.tenant;
    const outcome = await this.viewOf(tenant).labels.put(address, addressOf(`${key}`).key);
    const current = this.labels.get(label);
    const isTaken = current !== undefined && current !== key && this.resultFor(tenant, current) !== undefined;
    expect(outcome).toBe(isTaken ? 'taken' : 'stored');
    if (isTaken || current === key) return;
    this.labels.delete(label);
    this.labels.set(label, key);
  }

  async readSome(): Promise<void> {
    for (let count = 0; count < 40; count++) {
      await this.getBlob(this.random.below(BLOBS), this.tenant);
      await this.getResult(this.random.below(KEYS), this.tenant);
      await this.askMissing();
      await this.getBlob(this.random.below(BLOBS), this.tenant);
    }
    await this.findLabel();
  }

  async getBlob(index: number, tenant: Tenant): Promise<void> {
    this.operations++;
    const found = await this.viewOf(tenant).blobs.get(this.digest(index).hash);
    const isRight = found?.bytes?.equals(this.contents[index] ?? Buffer.alloc(0));
    if (isRight !== (this.has(tenant, index) ? true : undefined)) expect(found?.bytes).toBe(index);
  }

  async getResult(key: number, tenant: Tenant): Promise<void> {
    this.operations++;
    const found = await this.viewOf(tenant).results.get(addressOf(`${key}`));
    const bytes = this.resultFor(tenant, key)?.bytes;
    if (found ? !bytes?.equals(found.bytes) : bytes) expect(found?.bytes).toEqual(bytes);
  }

  async askMissing(): Promise<void> {
    this.operations++;
    const asked = Array.from({ length: 5 }, () => this.random.below(BLOBS));
    const tenant = this.tenant;
    const missing = await this.viewOf(tenant).blobs.missing(asked.map((index) => this.digest(index)));
    const expected = asked.filter((index) => !this.has(tenant, index));
    const isSame =
      missing.length === expected.length &&
      missing.every(({ hash }, at) => hash === this.digest(expected[at] ?? 0).hash);
    if (!isSame) expect(missing).toEqual(expected.map((index) => this.digest(index)));
  }

  async findLabel(): Promise<void> {
    this.operations++;
    const prefix = `label-${this.random.below(2) === 0 ? '' : '1'}`;
    const tenant = this.tenant;
    const found = await this.viewOf(tenant).labels.newest(DEFAULT_NAMESPACE, [prefix]);
    const live = [...this.labels].filter(
      ([label, key]) => `label-${label}`.startsWith(prefix) && this.resultFor(tenant, key) !== undefined,
    );
    const [label, key] = live.at(-1) ?? [];
    expect(found).toEqual(
      label === undefined ? undefined : { label: `label-${label}`, key: keyOf(key ?? 0) },
    );
  }

  /**
   * After a long time, whatever is used now stays, with the blobs that it names; everything else is evicted.
   */
  async evict(): Promise<void> {
    this.passTime();
    const blobs = [...this.blobs.keys()].filter(() => this.random.below(3) === 0);
    const keys = [...this.results.keys()].filter(() => this.random.below(3) === 0);
    for (const index of blobs) await this.getBlob(index, ITSELF);
    for (const key of keys) await this.getResult(key, ITSELF);
    this.operations++;
    await this.store.space.evict(0);
    const named = keys.flatMap((key) => this.results.get(key)?.named ?? []);
    for (const index of this.blobs.keys())
      if (!blobs.includes(index) && !named.includes(index)) this.blobs.delete(index);
    for (const key of this.results.keys()) if (!keys.includes(key)) this.results.delete(key);
  }
}

function keyOf(key: number): Hash {
  return addressOf(`${key}`).key;
}

let directory = '';
afterEach(() => removeFolder(directory));

async function check(seed: number): Promise<number> {
  directory = makeFolder();
  let time = 1000;
  const clock = { name: 'boot', now: () => time };
  const open = () => openDiskStore({ directory, clock, leaseMs: LEASE });
  const model = new Model(seed, [await open(), await open()], () => {
    time += LONG;
  });
  while (model.operations < OPERATIONS) {
    await model.writeSome();
    for (let round = 0; round < 5; round++) await model.readSome();
    if (model.random.below(3) === 0) await model.evict();
  }
  for (const store of model.stores) await store.close();
  removeFolder(directory);
  return model.operations;
}

test(`answers like a Map through ${SEEDS * OPERATIONS} operations (seeds ${SEED} to ${SEED + SEEDS - 1})`, async () => {
  let operations = 0;
  for (let seed = SEED; seed < SEED + SEEDS; seed++) {
    try {
      operations += await check(seed);
    } catch (error) {
      throw new Error(`seed ${seed}`, { cause: error });
    }
  }
  expect(operations).toBeGreaterThanOrEqual(SEEDS * OPERATIONS);
  keepFigures('model', { operations, seeds: SEEDS, differences: 0, 'first seed': SEED });
}, 400_000);
