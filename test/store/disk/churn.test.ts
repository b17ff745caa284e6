// A store that is always full, with many concurrent clients: a blob that an answer named is present until its
// lease ends (L3, E1). Time advances with the bytes written, so a lease covers a quarter of the store on any
// machine.
import { expect, test } from 'vitest';
import { type Digest, digestOf } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import type { StoreEvent } from '../../../store/events.ts';
import type { DiskStore } from '../../../store/open.ts';
import { keepFigures } from '../../rig/figures.ts';
import { Random } from '../../rig/random.ts';
import { soak } from '../../rig/soak.ts';
import { addressOf, contentOf, readFrom, resultNaming } from '../content.ts';
import { useFolders } from '../folders.ts';

const MIB = 1024 * 1024;
const LIMIT = soak(64, 32) * MIB;
const CHURN = soak(10, 3) * LIMIT;
const HITS = soak(1_000_000, 8_000);
const CLIENTS = 20;
const LEASE = 1_000_000;
const LEASED_BYTES = LIMIT / 4;
/** Results that clients ask for: the newest, and some that may be gone. */
const KNOWN = 400;
const SEED = Number(process.env.ASSAY_TEST_SEED ?? 64);
const { folder, open } = useFolders();

class World {
  time = 1000;
  written = 0;
  hits = 0;
  misses = 0;
  refused = 0;
  late = 0;
  checked = 0;
  broken: string[] = [];
  evicted = 0;
  next = 0;

  pass(bytes: number): void {
    this.time += (bytes / LEASED_BYTES) * LEASE;
  }
}

class Client {
  readonly #world: World;
  readonly #store: DiskStore;
  readonly #random: Random;
  /** The blobs that answers have named, and when their leases end. */
  #promised: { digest: Digest; name: string; until: number }[] = [];

  constructor(world: World, store: DiskStore, seed: number) {
    this.#world = world;
    this.#store = store;
    this.#random = new Random(seed);
  }

  async work(): Promise<void> {
    const world = this.#world;
    while (world.written < CHURN || world.hits < HITS) {
      // Keep writes and hits in step.
      if (world.written / CHURN <= world.hits / HITS) await this.#write();
      else for (let count = 0; count < 20; count++) await this.#hit();
      await this.#check();
    }
  }

  async #write(): Promise<void> {
    const name = `${this.#world.next++}`;
    const contents = contentsOf(name);
    const leased = new Map<string, number>();
    try {
      const digests = await Promise.all(contents.map((bytes) => this.#put(bytes, leased)));
      await this.#store.results.put(addressOf(name), resultNaming(...digests));
    } catch (error) {
      this.#excuse(error, leased);
    }
    const [own = 0, other = 0] = contents.map(({ length }) => length);
    const bytes = own + other;
    this.#world.written += bytes;
    this.#world.pass(bytes);
  }

  /** Records when the lease ends, counted from the answer. */
  async #put(bytes: Buffer, leased: Map<string, number>): Promise<Digest> {
    const digest = await this.#store.blobs.put(digestOf(bytes), bytes);
    leased.set(digest.hash, this.#world.time + LEASE);
    return digest;
  }

  /**
   * A full store refuses writes. A client that waits for one put for longer than a lease may also lose one of
   * its own earlier blobs. Both are expected; anything else fails the test.
   */
  #excuse(error: unknown, leased: ReadonlyMap<string, number>): void {
    const world = this.#world;
    if (!(error instanceof AssayError)) throw error;
    if (error.code === 'ASSAY_STORE_FULL') world.refused++;
    else if (error.code === 'ASSAY_RESULT_INCOMPLETE') {
      const named = [...leased].filter(([hash]) => error.message.includes(hash));
      world.broken.push(...named.filter(([, until]) => until > world.time).map(([hash]) => hash));
      world.late++;
    } else throw error;
  }

  async #hit(): Promise<void> {
    const world = this.#world;
    const name = `${Math.max(0, world.next - 1 - this.#random.below(KNOWN))}`;
    const result = await this.#store.results.get(addressOf(name));
    if (!result) {
      world.misses++;
      return;
    }
    world.hits++;
    const until = world.time + LEASE;
    for (const digest of result.references) this.#promised.push({ digest, name, until });
  }

  /** Checks leased blobs once each, because a check renews the lease. Reads one of them. */
  async #check(): Promise<void> {
    const { time } = this.#world;
    const isDue = ({ until }: { until: number }) => until - time < LEASE / 2;
    const due = this.#promised.filter((promise) => isDue(promise) && promise.until > time);
    this.#promised = this.#promised.filter((promise) => !isDue(promise));
    const missing = await this.#store.blobs.missing(due.map(({ digest }) => digest));
    this.#world.broken.push(...missing.map(({ hash }) => hash));
    this.#world.checked += due.length;
    const one = due.at(0);
    if (!one || one.until <= this.#world.time) return;
    const bytes = await readFrom(this.#store, one.digest);
    const isRight = bytes && contentsOf(one.name).some((content) => content.equals(bytes));
    if (!isRight) this.#world.broken.push(`bytes of ${one.digest.hash}`);
  }
}

/** Three blobs per result. Ten results share one blob, and some blobs are files. */
function contentsOf(name: string): Buffer[] {
  const number = Number(name);
  const shared = contentOf(`shared ${Math.floor(number / 10)}`, 20_000);
  const size = number % 16 === 0 ? 150_000 : 62_000 + (number % 7) * 500;
  return [contentOf(`a ${name}`, size), contentOf(`b ${name}`, 60_000), shared];
}

test(`${CHURN / LIMIT}x churn through ${LIMIT / MIB} MiB, ${CLIENTS} clients, ${HITS} hits: no named blob is missing within its lease (seed ${SEED})`, async () => {
  const world = new World();
  const directory = folder();
  const onEvent = (event: StoreEvent) => {
    if (event.type === 'evicted') world.evicted += event.bytes;
  };
  const options = {
    directory,
    onEvent,
    leaseMs: LEASE,
    maxSize: { bytes: LIMIT },
    clock: { name: 'boot', now: () => world.time },
  };
  const stores = [await open(options), await open(options)];
  const clients = Array.from(
    { length: CLIENTS },
    (_, index) => new Client(world, stores[index % 2] ?? stores[0] ?? raise(), SEED + index),
  );
  await Promise.all(clients.map((client) => client.work()));
  expect(world.broken).toEqual([]);
  expect(world.hits).toBeGreaterThanOrEqual(HITS);
  expect(world.written).toBeGreaterThanOrEqual(CHURN);
  // How much is evicted depends on how many writes a busy machine refuses: at least the whole store, once.
  expect(world.evicted).toBeGreaterThan(LIMIT);
  expect(world.checked).toBeGreaterThan(HITS);
  for (const store of stores) expect(store.space.used()).toBeLessThanOrEqual(LIMIT * 1.02);
  keepFigures('churn', {
    clients: CLIENTS,
    hits: world.hits,
    'written (MiB)': Math.round(world.written / MIB),
    'evicted (MiB)': Math.round(world.evicted / MIB),
    'writes refused': world.refused,
    'writes that took longer than a lease': world.late,
    'named blobs looked for late in their lease': world.checked,
    'missing or wrong': world.broken.length,
    seed: SEED,
  });
}, 600_000);

function raise(): never {
  throw new Error('no store');
}
