// What the recorded process stores, so that the checker knows what must be present.
import { digestOf } from '../../../core/digest.ts';
import { STORE } from '../../../store/limits.ts';
import type { ResultAddress } from '../../../store/store.ts';
import { Random } from '../../rig/random.ts';
import { addressOf, contentOf, resultNaming } from '../../store/content.ts';

/** Every third blob is large. They are as small as possible, because each outcome is written to the disk. */
export function blobOf(seed: number, number: number): Buffer {
  const random = new Random(seed * 7919 + number);
  const size = number % 3 === 2 ? STORE.inlineBytes + 1 + random.below(40_000) : 1 + random.below(9_000);
  return contentOf(`power ${seed}/${number}`, size);
}

/** Names the blob of that number and the one before it. */
export function resultOf(seed: number, number: number): { address: ResultAddress; bytes: Buffer } {
  const named = [number, Math.max(0, number - 1)].map((one) => digestOf(blobOf(seed, one)));
  return { address: addressOf(`power ${seed}/${number}`), bytes: resultNaming(...named) };
}

export const FIRST_TENANT = 'first';
export const SECOND_TENANT = 'second';

/** The tenants that put the blob of that number, one after the other. */
export function tenantsOf(number: number): string[] {
  return number % 2 === 0 ? [FIRST_TENANT, SECOND_TENANT] : [FIRST_TENANT];
}
