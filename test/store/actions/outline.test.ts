// The message in which a server tells the earlier action of a step.
import { expect, test } from 'vitest';
import { decodeEarlier, type Earlier, encodeEarlier } from '../../../store/actions/outline.ts';

const RAN = { namespace: 'acme/main', run: 'r1', at: 1_763_500_000_000 };

test.each<Earlier>([
  { outcome: 'none' },
  { outcome: 'same', ...RAN, ranMs: 2500 },
  { outcome: 'other', ...RAN, exitCode: 2, notKept: 'it failed' },
])('comes back as it was sent: %j', (earlier) => {
  expect(decodeEarlier(encodeEarlier(earlier))).toEqual(earlier);
});
