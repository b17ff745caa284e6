// The contract of action leases and fences. Every engine passes it.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { compareFences, type Fence } from '../../core/action-lease.ts';
import type { Hash } from '../../core/digest.ts';
import { DEFAULT_NAMESPACE, parseNamespace } from '../../core/namespace.ts';
import type { ActionLeases, Holding, LeaseRequest, LeaseState } from '../../store/action-leases.ts';
import { STORE } from '../../store/limits.ts';
import type { LabelAddress, Store } from '../../store/store.ts';
import { addressOf, contentOf, putOne, resultNaming } from './content.ts';

export interface OpenedLeases {
  readonly store: Store;
  /** The engine's clock goes on by so much, or back. */
  passTime(milliseconds: number): Promise<void>;
  dispose(): Promise<void>;
}

export interface LeaseBackend {
  readonly name: string;
  open(): Promise<OpenedLeases>;
}

const ACTION = addressOf('action');
const OTHERS = addressOf('action', parseNamespace('pull/1'));
const LIFE = STORE.actionLeaseMs;

const runner = (name: string, more: Partial<LeaseRequest> = {}): LeaseRequest => ({
  id: Buffer.from(name.padEnd(16)).toString('hex'),
  holder: name,
  ...more,
});

const holding = (name: string, { fence }: Pick<LeaseState, 'fence'>): Holding => ({
  id: runner(name).id,
  fence,
});

export function describeActionLeases(backend: LeaseBackend): void {
  describe(`action leases in ${backend.name}`, () => {
    let opened: OpenedLeases;
    let store: Store;
    let leases: ActionLeases;

    beforeEach(async () => {
      opened = await backend.open();
      store = opened.store;
      if (!store.actionLeases) throw new Error('the store has no action leases');
      leases = store.actionLeases;
    });

    afterEach(() => opened.dispose());

    async function granted(name: string, address = ACTION, more: Partial<LeaseRequest> = {}) {
      const { outcome, lease } = await leases.acquire(address, runner(name, more));
      expect(outcome).toBe('granted');
      return lease;
    }

    const isLater = (one: Fence, other: Fence) => compareFences(one, other) > 0;

    test('one run is granted the lease, and the others are told who holds it', async () => {
      const first = await granted('ci-7', ACTION, { expectedMs: 60_000 });
      await opened.passTime(2000);
      const { outcome, lease } = await leases.acquire(ACTION, runner('ci-8'));
      expect(outcome).toBe('held');
      expect(lease).toMatchObject({ fence: first.fence, holder: 'ci-7', expectedMs: 60_000, end: undefined });
      expect(lease.heldMs).toBeGreaterThanOrEqual(2000);
      expect(lease.expiresInMs).toBeLessThanOrEqual(LIFE - 2000);
      expect((await leases.states([ACTION]))[0]?.fence).toEqual(first.fence);
    });

    test('of many that ask at once, one is granted it', async () => {
      const asked = Array.from({ length: 12 }, (_, number) => leases.acquire(ACTION, runner(`ci-${number}`)));
      const answers = await Promise.all(asked);
      expect(answers.filter(({ outcome }) => outcome === 'granted')).toHaveLength(1);
      expect(new Set(answers.map(({ lease }) => lease.holder)).size).toBe(1);
    });

    test('a request that is repeated with its id gets the same lease', async () => {
      const first = await granted('ci-7');
      expect((await granted('ci-7')).fence).toEqual(first.fence);
    });

    test('each action of each namespace has its own', async () => {
      const fences = [
        (await granted('ci-7')).fence,
        (await granted('ci-8', addressOf('other'))).fence,
        (await granted('pr', OTHERS)).fence,
      ];
      expect(new Set(fences.map(({ epoch, number }) => `${epoch}.${number}`)).size).toBe(3);
      const unknown = addressOf('unknown');
      const [pr, none, one] = await leases.states([OTHERS, unknown, ACTION]);
      expect([pr?.holder, none, one?.holder]).toEqual(['pr', undefined, 'ci-7']);
    });

    test.each(['failed', 'cancelled', 'unkept'] as const)(
      'after a release as %s, the next one is granted a greater fence',
      async (reason) => {
        const first = await granted('ci-7');
        const release = { reason, detail: 'exit code 2' };
        expect(await leases.release(ACTION, holding('ci-7', first), release)).toBe(true);
        expect((await leases.states([ACTION]))[0]?.end).toEqual(release);
        expect(isLater((await granted('ci-8')).fence, first.fence)).toBe(true);
      },
    );

    test('after a release as done, a run that has not looked since is told to look first', async () => {
      const first = await granted('ci-7');
      await leases.release(ACTION, holding('ci-7', first), { reason: 'done' });
      const { outcome, lease } = await leases.acquire(ACTION, runner('ci-8'));
      expect([outcome, lease.fence, lease.end?.reason]).toEqual(['ended', first.fence, 'done']);
      const second = await granted('ci-8', ACTION, { after: first.fence });
      await leases.release(ACTION, holding('ci-8', second), { reason: 'done' });
      const third = await leases.acquire(ACTION, runner('ci-9', { after: first.fence }));
      expect([third.outcome, third.lease.fence]).toEqual(['ended', second.fence]);
    });

    test('a lease lives by its heartbeats, and ends without them', async () => {
      const first = await granted('ci-7');
      for (let beats = 0; beats < 3; beats++) {
        await opened.passTime(LIFE - 1000);
        expect(await leases.heartbeat(ACTION, holding('ci-7', first))).toBe(true);
      }
      expect((await leases.acquire(ACTION, runner('ci-8'))).outcome).toBe('held');
      await opened.passTime(LIFE + 1000);
      expect((await leases.states([ACTION]))[0]?.end).toEqual({ reason: 'expired' });
      expect(isLater((await granted('ci-8')).fence, first.fence)).toBe(true);
    });

    test('a holder that was stopped keeps its lease if nobody took it, and has lost it otherwise', async () => {
      const first = await granted('ci-7');
      await opened.passTime(LIFE + 1000);
      expect(await leases.heartbeat(ACTION, holding('ci-7', first))).toBe(true);
      expect((await leases.acquire(ACTION, runner('ci-8'))).outcome).toBe('held');
      await opened.passTime(LIFE + 1000);
      const second = await granted('ci-8');
      expect(await leases.heartbeat(ACTION, holding('ci-7', first))).toBe(false);
      expect(await leases.release(ACTION, holding('ci-7', first), { reason: 'done' })).toBe(false);
      expect((await leases.states([ACTION]))[0]).toMatchObject({ fence: second.fence, end: undefined });
    });

    test('nobody else can release it, and it is released once', async () => {
      const first = await granted('ci-7');
      expect(await leases.heartbeat(ACTION, holding('ci-8', first))).toBe(false);
      expect(await leases.release(ACTION, holding('ci-8', first), { reason: 'failed' })).toBe(false);
      expect(await leases.release(ACTION, holding('ci-7', first), { reason: 'cancelled' })).toBe(true);
      expect(await leases.release(ACTION, holding('ci-7', first), { reason: 'done' })).toBe(false);
      expect(await leases.heartbeat(ACTION, holding('ci-7', first))).toBe(false);
      expect((await leases.states([ACTION]))[0]?.end).toEqual({ reason: 'cancelled' });
    });

    test('a clock that is set back ends a lease rather than prolonging it', async () => {
      const first = await granted('ci-7');
      await opened.passTime(-60 * LIFE);
      expect((await leases.states([ACTION]))[0]?.end).toEqual({ reason: 'expired' });
      expect(await leases.heartbeat(ACTION, holding('ci-7', first))).toBe(true);
      await opened.passTime(LIFE + 1000);
      expect(isLater((await granted('ci-8')).fence, first.fence)).toBe(true);
    });

    test('what ended long ago is forgotten, and what is held is not', async () => {
      await granted('gone', addressOf('gone'));
      await granted('late', addressOf('late'));
      await opened.passTime(STORE.endedLeaseMs + LIFE + 1000);
      await granted('ci-7');
      expect(await leases.forgetEnded(1)).toBe(1);
      expect(await leases.forgetEnded(10)).toBe(1);
      const states = await leases.states([addressOf('gone'), addressOf('late'), ACTION]);
      expect(states.map((state) => state?.holder)).toEqual([undefined, undefined, 'ci-7']);
    });

    describe('and labels', () => {
      const LABEL: LabelAddress = { namespace: DEFAULT_NAMESPACE, label: 'checkpoint' };
      let key: Hash;

      beforeEach(async () => {
        key = await result('one');
      });

      /** Stores a result that is a hit. */
      async function result(name: string): Promise<Hash> {
        const address = addressOf(name);
        await store.results.put(address, resultNaming(await putOne(store, contentOf(name, 100))));
        return address.key;
      }

      const put = (fence?: Fence, label = LABEL.label, lease = ACTION) =>
        store.labels.put({ ...LABEL, label }, key, { lease, fence });
      const newest = async () => (await store.labels.newest(DEFAULT_NAMESPACE, ['']))?.label;
      const STALE = { code: 'ASSAY_STALE_FENCE' };
      const LEASED = { code: 'ASSAY_LABEL_LEASED' };

      test('the holder of the newest lease writes a label, also after its end', async () => {
        const first = await granted('ci-7');
        expect(await put(first.fence, 'a')).toBe('stored');
        await opened.passTime(LIFE + 1000);
        expect(await put(first.fence, 'b')).toBe('stored');
        await leases.release(ACTION, holding('ci-7', first), { reason: 'done' });
        expect(await put(first.fence, 'c')).toBe('stored');
        expect(await newest()).toBe('c');
      });

      test('a stale fence is refused, whatever became of the newer lease', async () => {
        const first = await granted('ci-7');
        await opened.passTime(LIFE + 1000);
        const second = await granted('ci-8');
        expect(await put(second.fence, 'newer')).toBe('stored');
        await expect(put(first.fence, 'older')).rejects.toMatchObject(STALE);
        await leases.release(ACTION, holding('ci-8', second), { reason: 'done' });
        await expect(put(first.fence, 'older')).rejects.toMatchObject(STALE);
        await expect(put(first.fence, 'newer')).rejects.toMatchObject(STALE);
        await opened.passTime(STORE.endedLeaseMs + 1000);
        await leases.forgetEnded(10);
        await expect(put(first.fence, 'older')).rejects.toMatchObject(STALE);
        expect(await newest()).toBe('newer');
      });

      test('a fence of another action, or one that was never given, is refused', async () => {
        const { fence } = await granted('ci-7');
        const wrong = [
          { ...fence, number: fence.number + 1 },
          { ...fence, epoch: fence.epoch + 1 },
        ];
        for (const other of wrong) await expect(put(other)).rejects.toMatchObject(STALE);
        await expect(put(fence, 'a', addressOf('other'))).rejects.toMatchObject(STALE);
        expect(await newest()).toBeUndefined();
      });

      test('without a fence a label is written, unless the lease is held, and then at most for an hour', async () => {
        expect(await put(undefined, 'before')).toBe('stored');
        const first = await granted('ci-7');
        await expect(put(undefined, 'during')).rejects.toMatchObject(LEASED);
        for (let passed = 0; passed <= STORE.guardedLabelMs; passed += LIFE - 1000) {
          await opened.passTime(LIFE - 1000);
          await leases.heartbeat(ACTION, holding('ci-7', first));
        }
        expect(await put(undefined, 'an hour later')).toBe('stored');
        await leases.release(ACTION, holding('ci-7', first), { reason: 'done' });
        const { outcome } = await leases.acquire(ACTION, runner('ci-8', { after: first.fence }));
        expect(outcome).toBe('granted');
        await expect(put(undefined, 'again')).rejects.toMatchObject(LEASED);
        await opened.passTime(LIFE + 1000);
        expect(await put(undefined, 'after')).toBe('stored');
      });

      test('a label that is written while the lease changes hands is refused or comes before', async () => {
        for (let round = 0; round < 8; round++) {
          const address = addressOf(`round ${round}`);
          const old = await granted('old', address);
          await opened.passTime(LIFE + 1000);
          const late = put(old.fence, `${round} late`, address).catch(() => 'refused');
          const { lease } = await leases.acquire(address, runner('new'));
          const seen = await store.labels.newest(DEFAULT_NAMESPACE, [], `${round} late`);
          const outcome = await late;
          expect(await put(lease.fence, `${round} new`, address)).toBe('stored');
          if (!seen) expect(outcome).toBe('refused');
          expect(await newest()).toBe(`${round} new`);
        }
      });
    });
  });
}
