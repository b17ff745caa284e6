import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Evicted } from '../../../../store/disk/space/eviction.ts';
import { Space } from '../../../../store/disk/space/space.ts';
import type { StoreEvent } from '../../../../store/events.ts';
import type { Reservation } from '../../../../store/layers/limit.ts';
import { STORE } from '../../../../store/limits.ts';

const KIB = 1024;
const LIMIT = 1000 * KIB;

/**
 * A store whose eviction the test controls: each step waits until the test says how many bytes it frees, or
 * that nothing is left.
 */
class Steered {
  files = LIMIT;
  readonly failures: string[] = [];
  /** As the events reported it. */
  evicted = 0;
  /** How many steps have begun. */
  steps = 0;
  #steps: ((bytes: number | Error | undefined) => void)[] = [];
  #begun: (() => void)[] = [];
  readonly space = new Space(
    {
      source: { usage: () => ({ index: 0, indexFile: 0, files: this.files }), compact: async () => {} },
      eviction: { step: () => this.#step(), preview: () => Promise.reject(new Error('not asked')) },
      limit: () => LIMIT,
      name: 'the limit of the whole store',
    },
    (event) => this.#hear(event),
  );

  #hear(event: StoreEvent): void {
    if (event.type === 'evicted') this.evicted += event.bytes;
    if (event.type === 'eviction-failed') this.failures.push(event.detail);
  }

  #step(): Promise<Evicted | undefined> {
    this.steps++;
    return new Promise((resolve, reject) => {
      this.#steps.push((bytes) => {
        if (bytes instanceof Error) return reject(bytes);
        this.files -= bytes ?? 0;
        resolve(bytes === undefined ? undefined : { results: 0, blobs: 1, uploads: 0, bytes });
      });
      this.#begun.shift()?.();
    });
  }

  /** Ends the running step, or the next one. */
  async evict(bytes: number | Error | undefined): Promise<void> {
    if (this.#steps.length === 0) await new Promise<void>((resolve) => this.#begun.push(resolve));
    this.#steps.shift()?.(bytes);
  }

  /** A write that runs until `end` is called. */
  write(bytes: number): { entered: Promise<unknown>; end(): void } {
    let end = () => {};
    const written = new Promise<void>((resolve) => {
      end = () => {
        this.files += bytes;
        resolve();
      };
    });
    const entered = new Promise((resolve, reject) => {
      const during = this.space.withReserved(bytes, () => {
        resolve('entered');
        return written;
      });
      during.catch(reject);
    });
    return { entered, end };
  }
}

/** A write whose bytes still arrive. It ends as soon as it is refused or cancelled. */
class Arriving {
  readonly #reservation: Reservation;
  readonly #store: Steered;
  #stored = 0;
  refused: unknown;

  constructor(store: Steered, announced?: number) {
    this.#store = store;
    const cancel = (error: unknown) => this.#end(error);
    this.#reservation = store.space.begin({ announced, staged: 0, cancel });
  }

  async send(bytes: number): Promise<void> {
    try {
      await this.#reservation.grow(bytes);
      this.#stored += bytes;
    } catch (error) {
      this.#end(error);
    }
  }

  /** Its bytes count as used from now on. */
  commit(): void {
    this.#reservation.complete();
    this.#store.files += this.#stored;
  }

  end(): void {
    this.#reservation.end();
  }

  #end(error: unknown): void {
    if (this.refused) return;
    this.refused = error;
    this.#reservation.end();
  }
}

const STORE_FULL = { code: 'ASSAY_STORE_FULL' };

describe('a write whose bytes still arrive', () => {
  test('S2: reserves and evicts nothing for its announced size', async () => {
    const store = new Steered();
    store.files = 0.8 * LIMIT;
    const announced = Array.from({ length: 20 }, () => new Arriving(store, 0.9 * LIMIT));
    await Promise.all(announced.map((write) => write.send(1)));
    expect(store.space.isAvailable(60 * KIB)).toBe(true);
    expect(store.steps).toBe(0);
    expect(announced.map(({ refused }) => refused)).toEqual(announced.map(() => undefined));
  });

  test('S2: reserves blocks, not a block for each piece', async () => {
    const store = new Steered();
    store.files = 0;
    const slow = new Arriving(store);
    for (let sent = 0; sent < 5000; sent++) await slow.send(1);
    expect(store.space.isAvailable(LIMIT - 8 * KIB)).toBe(true);
    expect(store.space.isAvailable(LIMIT - 4 * KIB)).toBe(false);
  });

  test('S4: is refused at once if its announced size could never fit, and nothing is evicted', () => {
    const store = new Steered();
    expect(() => new Arriving(store, LIMIT + 1)).toThrow(/limit of the whole store/);
    expect(store.steps).toBe(0);
  });

  test('S4: is refused without an announcement as soon as it is larger than the limit', async () => {
    const store = new Steered();
    store.files = 0;
    const endless = new Arriving(store);
    await endless.send(LIMIT - 4 * KIB);
    await endless.send(8 * KIB);
    expect(endless.refused).toMatchObject({ code: 'ASSAY_TOO_LARGE' });
  });

  test('S3: of two that wait for one another, the younger one ends, and the older one goes on', async () => {
    const store = new Steered();
    store.files = 0;
    const [older, younger] = [new Arriving(store), new Arriving(store)];
    for (const write of [younger, older]) await write.send(500 * KIB - 4 * KIB);
    const waiting = [younger.send(100 * KIB), older.send(100 * KIB)];
    // The first step began before a write waited, so another one is taken for it.
    for (const _ of [1, 2]) await store.evict(undefined);
    await Promise.all(waiting);
    expect(younger.refused).toMatchObject(STORE_FULL);
    expect(older.refused).toBeUndefined();
  });

  test('S3: makes way for one that is complete', async () => {
    const store = new Steered();
    store.files = 0;
    const [older, younger] = [new Arriving(store), new Arriving(store)];
    for (const write of [older, younger]) await write.send(500 * KIB);
    const { entered } = store.write(4 * KIB);
    const waiting = [older.send(4 * KIB), younger.send(4 * KIB)];
    // The first step began before a write waited, so another one is taken for it.
    for (const _ of [1, 2]) await store.evict(undefined);
    expect(await entered).toBe('entered');
    await Promise.all(waiting);
    expect([older.refused, younger.refused]).toEqual([undefined, expect.objectContaining(STORE_FULL)]);
  });

  test('S3: makes way if it is slow, and a write that waits for it is not refused', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const store = new Steered();
    store.files = 0;
    const slow = new Arriving(store, 0.9 * LIMIT);
    await slow.send(0.9 * LIMIT - 1);
    const [fast, { entered }] = [new Arriving(store), store.write(200 * KIB)];
    await store.evict(undefined);
    await vi.advanceTimersByTimeAsync(STORE.slowWriteMs - 1);
    expect(slow.refused).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    await store.evict(undefined);
    expect(await entered).toBe('entered');
    expect(slow.refused).toMatchObject(STORE_FULL);
    await fast.send(700 * KIB);
    expect(fast.refused).toBeUndefined();
  });

  test('S3: goes on if the others would not fit without it either', async () => {
    const store = new Steered();
    store.files = 0.9 * LIMIT;
    const going = new Arriving(store);
    await going.send(40 * KIB);
    const refused = expect(store.write(200 * KIB).entered).rejects.toMatchObject(STORE_FULL);
    await store.evict(undefined);
    await refused;
    expect(going.refused).toBeUndefined();
  });

  test('S3: is not ended while the bytes of a finished write are counted twice', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const store = new Steered();
    store.files = 0;
    const [finished, going] = [new Arriving(store), new Arriving(store)];
    for (const write of [finished, going]) await write.send(400 * KIB);
    finished.commit();
    // Until the usage is measured again.
    await vi.advanceTimersByTimeAsync(STORE.usageMs);
    const waiting = going.send(100 * KIB);
    await store.evict(undefined);
    await new Promise((resolve) => setImmediate(resolve));
    finished.end();
    await waiting;
    expect(going.refused).toBeUndefined();
  });
});

describe('a write that waits for space', () => {
  test('is admitted after the step that frees enough, while eviction continues', async () => {
    const store = new Steered();
    const { entered, end } = store.write(40 * KIB);
    await store.evict(20 * KIB);
    await store.evict(20 * KIB);
    // A third step is running by now, and does not end before the write does.
    expect(await entered).toBe('entered');
    end();
    expect(store.evicted).toBe(40 * KIB);
    await store.evict(undefined);
    await store.space.close();
  });

  test('S2: is not overtaken by a smaller one', async () => {
    const store = new Steered();
    const order: string[] = [];
    const large = store.write(200 * KIB);
    const small = store.write(4 * KIB);
    const entries = [
      large.entered.then(() => order.push('large')),
      small.entered.then(() => order.push('small')),
    ];
    await store.evict(100 * KIB);
    expect(store.space.isAvailable(4 * KIB)).toBe(false);
    await store.evict(150 * KIB);
    await Promise.all(entries);
    expect(order).toEqual(['large', 'small']);
  });

  test('S3: is refused when nothing is left to evict, and a smaller one behind it is not', async () => {
    const store = new Steered();
    const large = store.write(200 * KIB);
    const small = store.write(4 * KIB);
    const refused = expect(large.entered).rejects.toMatchObject({ code: 'ASSAY_STORE_FULL' });
    await store.evict(100 * KIB);
    await store.evict(undefined);
    await refused;
    expect(await small.entered).toBe('entered');
  });

  test('S3: is admitted if another process has freed the space meanwhile', async () => {
    const store = new Steered();
    const { entered } = store.write(40 * KIB);
    await store.evict(0);
    store.files -= 40 * KIB;
    await store.evict(undefined);
    expect(await entered).toBe('entered');
  });

  test('gets the error of a failed eviction; the next write tries again', async () => {
    const store = new Steered();
    const first = expect(store.write(4 * KIB).entered).rejects.toThrow('no such disk');
    await store.evict(new Error('no such disk'));
    await first;
    expect(store.failures).toEqual(['no such disk']);
    const { entered } = store.write(4 * KIB);
    await store.evict(8 * KIB);
    expect(await entered).toBe('entered');
  });

  test('is refused at once when the store is closed', async () => {
    const store = new Steered();
    const refused = expect(store.write(4 * KIB).entered).rejects.toMatchObject({ code: 'ASSAY_STORE_FULL' });
    const closed = store.space.close();
    await store.evict(undefined);
    await closed;
    await refused;
    await expect(store.write(4 * KIB).entered).rejects.toMatchObject({ code: 'ASSAY_STORE_FULL' });
  });

  test('S6: ends the pause of background eviction', async () => {
    const store = new Steered();
    store.files = 0.97 * LIMIT;
    const small = store.write(4 * KIB);
    expect(await small.entered).toBe('entered');
    // A step so long that its pause would outlast this test.
    const now = performance.now;
    const began = now.call(performance);
    performance.now = () => began + 1000 * (now.call(performance) - began);
    try {
      await store.evict(4 * KIB);
      await new Promise((resolve) => setImmediate(resolve));
    } finally {
      performance.now = now;
    }
    const large = store.write(100 * KIB);
    await store.evict(100 * KIB);
    expect(await large.entered).toBe('entered');
  });
});

describe('without a write that waits', () => {
  /** Lets one small write through. */
  async function writeOne(store: Steered): Promise<void> {
    const { entered, end } = store.write(4 * KIB);
    expect(await entered).toBe('entered');
    end();
  }

  test('S6: eviction begins above STORE.evictFrom of the limit', async () => {
    const store = new Steered();
    store.files = (STORE.evictFrom - 0.01) * LIMIT;
    await writeOne(store);
    expect(store.steps).toBe(0);
    const fuller = new Steered();
    fuller.files = (STORE.evictFrom + 0.01) * LIMIT;
    await writeOne(fuller);
    expect(fuller.steps).toBe(1);
    await fuller.evict(undefined);
    await fuller.space.close();
  });

  test('S6: eviction ends at STORE.evictTo of the limit', async () => {
    const store = new Steered();
    store.files = (STORE.evictFrom + 0.01) * LIMIT;
    await writeOne(store);
    await store.evict(4 * KIB);
    // The second step frees exactly what is above the mark.
    await store.evict(store.files - STORE.evictTo * LIMIT);
    // Long enough for a third step to begin after the pause, which is short after so short a step.
    await sleep(100);
    expect(store.steps).toBe(2);
    expect(store.files).toBe(STORE.evictTo * LIMIT);
  });

  test('S4: a write larger than the limit is refused at once, and nothing is evicted', async () => {
    const store = new Steered();
    await expect(store.write(LIMIT + 1).entered).rejects.toMatchObject({ code: 'ASSAY_TOO_LARGE' });
    expect(store.steps).toBe(0);
  });
});
