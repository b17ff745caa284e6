// Quotas and floors of namespaces in a store on disk: A1 to A4 of store/disk/accounts/accounts.ts.
import pino from 'pino';
import { describe, expect, test, vi } from 'vitest';
import type { Digest } from '../../../../core/digest.ts';
import { type Namespace, parseNamespace } from '../../../../core/namespace.ts';
import { keepCounting } from '../../../../server/background/count.ts';
import type { AccountSettings } from '../../../../store/accounts.ts';
import { STORE } from '../../../../store/limits.ts';
import type { DiskStore } from '../../../../store/open.ts';
import type { Store } from '../../../../store/store.ts';
import { addressOf, contentOf, putOne, resultNaming, streamOf } from '../../content.ts';
import { useFolders } from '../../folders.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const LIMIT = 16 * MIB;
const LEASE = 1_000_000;
/** No lease that was given before is valid after this time. */
const LONG = LEASE * (1 + 2 / STORE.leaseWindows) + 2 * STORE.tickSlackMs;
const { folder, open } = useFolders();

const MAIN = parseNamespace('acme/main');
const PR = parseNamespace('acme/pr/7');
const OTHER = parseNamespace('globex/main');

/** A machine whose time the test sets, with one store. */
class Machine {
  time = 5_000_000;
  readonly directory = folder();
  store!: DiskStore;

  async open(...accounts: AccountSettings[]): Promise<DiskStore> {
    const clock = { name: 'boot', now: () => this.time };
    const options = { directory: this.directory, leaseMs: LEASE, maxSize: { bytes: LIMIT }, clock };
    this.store = await open({ ...options, accounts });
    await this.store.holdings.count(async () => {});
    return this.store;
  }

  viewOf(namespace: Namespace): Store {
    return this.store.tenant(namespace);
  }

  /** A result that names one blob of that size. */
  async put(namespace: Namespace, name: string, size = MIB): Promise<Digest> {
    const digest = await putOne(this.viewOf(namespace), contentOf(name, size));
    await this.viewOf(namespace).results.put(addressOf(name, namespace), resultNaming(digest));
    this.time += LEASE / 1000;
    return digest;
  }

  async fill(namespace: Namespace, count: number, prefix = namespace as string): Promise<void> {
    for (let number = 0; number < count; number++) await this.put(namespace, `${prefix} ${number}`);
  }

  async hits(namespace: Namespace, count: number, prefix = namespace as string): Promise<number> {
    const names = Array.from({ length: count }, (_, number) => `${prefix} ${number}`);
    const found = names.map((name) => this.viewOf(namespace).results.get(addressOf(name, namespace)));
    return (await Promise.all(found)).filter(Boolean).length;
  }

  bytesOf(name: string): number {
    return this.store.holdings.accounts.all.find((account) => account.name === name)?.bytes ?? Number.NaN;
  }

  expire(): void {
    this.time += LONG;
  }
}

const account = (name: string, sizes: Pick<AccountSettings, 'quota' | 'floor'>): AccountSettings => ({
  name,
  namespaces: [name],
  ...sizes,
});

describe('labels', () => {
  /** One with many parts, which has a row for each. */
  const nameOf = (number: number) => `${number}`.padEnd(500, '.part');

  test('count for the account that puts them, and are refused at its quota', async () => {
    const machine = new Machine();
    await machine.open(account('acme/pr', { quota: { bytes: 4 * MIB } }));
    await machine.put(PR, 'one', KIB);
    const { key } = addressOf('one', PR);
    let puts = 0;
    const flood = async () => {
      for (; puts < 1000; puts++)
        await machine.viewOf(PR).labels.put({ namespace: PR, label: nameOf(puts) }, key);
    };
    await expect(flood()).rejects.toMatchObject({ code: 'ASSAY_STORE_FULL' });
    expect(puts).toBeGreaterThan(100);
    expect(machine.store.space.used()).toBeLessThan(8 * MIB);
    const counted = machine.bytesOf('acme/pr');
    expect(counted).toBeLessThanOrEqual(4 * MIB);
    await machine.store.holdings.count(async () => {});
    expect(machine.bytesOf('acme/pr')).toBe(counted);
    await machine.put(MAIN, 'of main');
    expect(await machine.viewOf(PR).labels.put({ namespace: PR, label: nameOf(0) }, key)).toBe('stored');
  });

  test('whose result is gone are removed after a count, and count no more', async () => {
    const machine = new Machine();
    const store = await machine.open(account('acme/pr', { quota: { bytes: 4 * MIB } }));
    await machine.put(PR, 'kept', KIB);
    await machine.put(PR, 'gone', KIB);
    for (const name of ['kept', 'gone'])
      await machine.viewOf(PR).labels.put({ namespace: PR, label: name }, addressOf(name, PR).key);
    for await (const seen of store.review?.results() ?? [])
      if (seen.address.key === addressOf('gone', PR).key) await store.review?.remove(seen);
    const before = machine.bytesOf('acme/pr');
    const stop = new AbortController();
    const log = pino({ enabled: false });
    log.info = () => stop.abort();
    await keepCounting(store, log, stop.signal);
    const left: string[] = [];
    for await (const { label } of store.review?.labels() ?? []) left.push(label);
    expect(left).toEqual(['kept']);
    expect(machine.bytesOf('acme/pr')).toBeLessThan(before);
    await store.holdings.count(async () => {});
    expect(machine.bytesOf('acme/pr')).toBeLessThan(before);
  });
});

test('labels without a result are removed from a store without accounts too', async () => {
  const machine = new Machine();
  const store = await machine.open();
  await machine.put(MAIN, 'kept', KIB);
  for (const name of ['kept', 'nowhere'])
    await store.labels.put({ namespace: MAIN, label: name }, addressOf(name, MAIN).key);
  const left = async () => (await Array.fromAsync(store.review?.labels() ?? [])).map(({ label }) => label);
  expect((await left()).toSorted()).toEqual(['kept', 'nowhere']);
  const stop = new AbortController();
  const counting = keepCounting(store, pino({ enabled: false }), stop.signal);
  await expect.poll(left).toEqual(['kept']);
  stop.abort();
  await counting;
});

describe('a quota', () => {
  test('A4: at its quota a namespace evicts its own, and nothing of others', async () => {
    const machine = new Machine();
    await machine.open(account('acme/pr', { quota: { bytes: 4 * MIB } }));
    await machine.fill(MAIN, 4);
    await machine.fill(OTHER, 4);
    machine.expire();
    await machine.fill(PR, 3);
    machine.expire();
    await machine.fill(PR, 3, 'later');
    expect(await machine.hits(MAIN, 4)).toBe(4);
    expect(await machine.hits(OTHER, 4)).toBe(4);
    expect(await machine.hits(PR, 3, 'later')).toBe(3);
    expect(await machine.hits(PR, 3)).toBeLessThan(3);
    expect(machine.bytesOf('acme/pr')).toBeLessThanOrEqual(4 * MIB);
  });

  test('A4: if all of that is leased, only its own writes are refused', async () => {
    const machine = new Machine();
    await machine.open(account('acme/pr', { quota: { bytes: 4 * MIB } }));
    await machine.fill(PR, 3);
    const refused = expect.objectContaining({ code: 'ASSAY_STORE_FULL' });
    await expect(machine.put(PR, 'one too many')).rejects.toEqual(refused);
    await expect(machine.put(PR, 'one too many')).rejects.toThrow('the quota of acme/pr');
    await machine.fill(MAIN, 4);
    await machine.fill(OTHER, 4);
    expect(await machine.hits(PR, 3)).toBe(3);
  });

  test('what is above a new quota is evicted when it is counted', async () => {
    const machine = new Machine();
    await machine.open();
    await machine.fill(PR, 8);
    await machine.store.close();
    machine.expire();
    await machine.open(account('acme/pr', { quota: { share: 0.25 } }));
    await vi.waitFor(() => expect(machine.bytesOf('acme/pr')).toBeLessThanOrEqual(LIMIT / 4), 5000);
    expect(await machine.hits(PR, 8)).toBeGreaterThan(1);
  });

  test('holds for a blob whose size is unknown, and for an upload in parts', async () => {
    const machine = new Machine();
    await machine.open(account('acme/pr', { quota: { bytes: 2 * MIB } }));
    const refused = expect.objectContaining({ code: 'ASSAY_STORE_FULL' });
    const large = contentOf('large', 3 * MIB);
    const view = machine.viewOf(PR);
    await expect(view.blobs.put({}, streamOf(large))).rejects.toMatchObject({
      code: expect.stringMatching(/ASSAY_(STORE_FULL|TOO_LARGE)/),
    });
    const half = { expected: {}, isLast: false };
    await view.uploads.append('a', { ...half, offset: 0, content: large.subarray(0, MIB) });
    await view.uploads.append('b', { ...half, offset: 0, content: large.subarray(0, MIB / 2) });
    await expect(
      Promise.all([
        view.uploads.append('a', { ...half, offset: MIB, content: streamOf(large.subarray(0, MIB)) }),
        view.uploads.append('b', { ...half, offset: MIB / 2, content: streamOf(large.subarray(0, MIB)) }),
      ]),
    ).rejects.toEqual(refused);
    await machine.put(MAIN, 'of main');
  });

  test('a namespace below another counts for both', async () => {
    const machine = new Machine();
    await machine.open(
      account('acme', { quota: { bytes: 6 * MIB } }),
      account('acme/pr', { quota: { bytes: 4 * MIB } }),
    );
    await machine.fill(PR, 2);
    await machine.fill(MAIN, 2);
    expect(machine.bytesOf('acme')).toBeGreaterThan(4 * MIB);
    expect(machine.bytesOf('acme/pr')).toBeLessThan(3 * MIB);
    machine.expire();
    await machine.fill(MAIN, 4, 'later');
    expect(machine.bytesOf('acme')).toBeLessThanOrEqual(6 * MIB);
    expect(await machine.hits(MAIN, 4, 'later')).toBe(4);
  });
});

describe('what counts', () => {
  test('A2: a blob counts in full for each account that sent it or whose results name it', async () => {
    const machine = new Machine();
    await machine.open(account('acme/main', {}), account('acme/pr', {}), account('globex', {}));
    const digest = await machine.put(MAIN, 'shared');
    const alone = machine.bytesOf('acme/main');
    expect(alone).toBeGreaterThan(MIB);
    expect(machine.bytesOf('acme/pr')).toBe(0);
    // A result of a pull request that names what main has sent.
    await machine.viewOf(PR).results.put(addressOf('named', PR), resultNaming(digest));
    expect(machine.bytesOf('acme/pr')).toBeGreaterThan(MIB);
    await machine.put(OTHER, 'shared');
    expect(machine.bytesOf('globex')).toBeGreaterThan(MIB);
    expect(machine.bytesOf('acme/main')).toBe(alone);
    const before = ['acme/main', 'acme/pr', 'globex'].map((name) => machine.bytesOf(name));
    await machine.store.close();
    await machine.open(account('acme/main', {}), account('acme/pr', {}), account('globex', {}));
    expect(['acme/main', 'acme/pr', 'globex'].map((name) => machine.bytesOf(name))).toEqual(before);
  });

  test('A1: at its quota a namespace gives up what others hold too, and they keep it', async () => {
    const machine = new Machine();
    await machine.open(account('acme/pr', { quota: { bytes: 3 * MIB } }));
    await machine.fill(MAIN, 2, 'shared');
    await machine.fill(PR, 2, 'shared');
    machine.expire();
    await machine.fill(PR, 2, 'later');
    expect(await machine.hits(MAIN, 2, 'shared')).toBe(2);
    expect(await machine.hits(PR, 2, 'later')).toBe(2);
    expect(machine.bytesOf('acme/pr')).toBeLessThanOrEqual(3 * MIB);
  });

  test('A1: a store that was filled before it had accounts loses nothing of others', async () => {
    const machine = new Machine();
    await machine.open();
    await machine.fill(MAIN, 2, 'shared');
    await machine.fill(PR, 2, 'shared');
    await machine.fill(PR, 2);
    await machine.store.close();
    machine.expire();
    await machine.open(account('acme/pr', { quota: { bytes: 5 * MIB } }));
    expect(machine.bytesOf('acme/pr')).toBeGreaterThan(4 * MIB);
    await machine.fill(PR, 3, 'later');
    expect(await machine.hits(MAIN, 2, 'shared')).toBe(2);
    expect(await machine.hits(PR, 3, 'later')).toBe(3);
  });

  test('accounts that are taken away or split leave their bytes to the next one above', async () => {
    const machine = new Machine();
    await machine.open(account('acme/pr', {}));
    await machine.fill(PR, 2);
    await machine.store.close();
    await machine.open(account('acme', {}));
    expect(machine.bytesOf('acme')).toBeGreaterThan(2 * MIB);
    await machine.store.close();
    await machine.open(account('acme', {}), account('acme/pr/7', {}));
    expect(machine.bytesOf('acme/pr/7')).toBeGreaterThan(2 * MIB);
    expect(machine.bytesOf('acme')).toBe(machine.bytesOf('acme/pr/7'));
  });
});

describe('a floor', () => {
  test('A3: nothing of a namespace at its floor is evicted for others', async () => {
    const machine = new Machine();
    await machine.open(account('acme/main', { floor: { bytes: 6 * MIB } }));
    await machine.fill(MAIN, 5);
    machine.expire();
    for (let round = 0; round < 4; round++) {
      await machine.fill(OTHER, 8, `round ${round}`);
      machine.expire();
    }
    expect(await machine.hits(MAIN, 5)).toBe(5);
  });

  test('A3: what is above the floor is evicted, least recently used first', async () => {
    const machine = new Machine();
    await machine.open(account('acme/main', { floor: { bytes: 4 * MIB } }));
    await machine.fill(MAIN, 8);
    machine.expire();
    await machine.fill(OTHER, 9);
    const left = await machine.hits(MAIN, 8);
    expect(left).toBeGreaterThanOrEqual(3);
    expect(left).toBeLessThan(8);
    expect(machine.bytesOf('acme/main')).toBeGreaterThanOrEqual(4 * MIB);
  });

  test('the space of a floor is there for its namespace, although others have leased all they can', async () => {
    const machine = new Machine();
    await machine.open(account('acme/main', { floor: { bytes: 6 * MIB } }));
    const refused = expect.objectContaining({ code: 'ASSAY_STORE_FULL' });
    await expect(machine.fill(OTHER, 20)).rejects.toEqual(refused);
    await machine.fill(MAIN, 5);
    expect(await machine.hits(MAIN, 5)).toBe(5);
  });

  test('a namespace evicts its own below its floor', async () => {
    const machine = new Machine();
    await machine.open(account('acme/main', { floor: { bytes: 14 * MIB } }));
    await machine.fill(MAIN, 12);
    machine.expire();
    await machine.fill(MAIN, 8, 'later');
    expect(await machine.hits(MAIN, 8, 'later')).toBe(8);
  });
});

test('before the first count nothing is evicted, and a write that needs space waits for it', async () => {
  const machine = new Machine();
  await machine.open();
  await machine.fill(MAIN, 12);
  await machine.store.close();
  machine.expire();
  const clock = { name: 'boot', now: () => machine.time };
  machine.store = await open({
    directory: machine.directory,
    leaseMs: LEASE,
    maxSize: { bytes: LIMIT },
    clock,
    accounts: [account('acme/main', { floor: { bytes: 14 * MIB } })],
  });
  const writing = machine.fill(OTHER, 3).then(
    () => 'stored',
    (error) => error.code,
  );
  await machine.store.holdings.count(async () => {});
  expect(await writing).toBe('ASSAY_STORE_FULL');
  expect(await machine.hits(MAIN, 12)).toBe(12);
});
