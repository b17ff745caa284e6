// What the evicting child writes: its parent computes the same content to check it.
import { Random } from '../../rig/random.ts';
import { contentOf } from '../content.ts';

const MIB = 1024 * 1024;

export const EVICTED = {
  /** Short leases: they end soon after a child was killed and the next one started. */
  options: { leaseMs: 200, maxSize: { bytes: 10 * MIB } },
  upload: 'an upload that goes on',

  contentsOf(seed: number, number: number): Buffer[] {
    const random = new Random(seed * 7919 + number);
    const sizes = [100 + random.below(4000), 70_000 + random.below(200_000)];
    return sizes.map((size, index) => contentOf(`${seed}/${number}/${index}`, size));
  },
} as const;

export function uploadOf(): Buffer {
  return contentOf('an upload that goes on', 4_000_000);
}
