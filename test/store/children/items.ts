// What a child process puts. The same seed and number give the same content, so that the parent can check it.
import { digestOf } from '../../../core/digest.ts';
import { STORE } from '../../../store/limits.ts';
import type { ResultAddress } from '../../../store/store.ts';
import { Random } from '../../rig/random.ts';
import { addressOf, contentOf, resultNaming } from '../content.ts';

/** Mostly small blobs: many of them are stored before a kill. */
export function blobOf(seed: number, number: number): Buffer {
  const random = new Random(seed * 7919 + number);
  const isLarge = random.below(4) === 0;
  const size = isLarge
    ? STORE.inlineBytes + 1 + random.below(2 * STORE.chunkBytes)
    : 1 + random.below(STORE.inlineBytes);
  return contentOf(`${seed}/${number}`, size);
}

/** Names the blob of that number and the one before it. */
export function resultOf(seed: number, number: number): { address: ResultAddress; bytes: Buffer } {
  const named = [number, Math.max(0, number - 1)].map((one) => digestOf(blobOf(seed, one)));
  return { address: addressOf(`${seed}/${number}`), bytes: resultNaming(...named) };
}

/** What the child `committer` of that name puts. */
export function committedBy(name: string, number: number): Buffer {
  return contentOf(`${name}/${number}`, 100);
}

const TENANTS = 3;

export function tenantsOf(prefix: string): string[] {
  return Array.from({ length: TENANTS }, (_, index) => `${prefix}${index}`);
}

/** Two of the three put the blob of that number. */
export function tenantsWith(prefix: string, number: number): string[] {
  return [number, number + 1].map((index) => `${prefix}${index % TENANTS}`);
}
