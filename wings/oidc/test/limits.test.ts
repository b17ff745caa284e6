// Relations between the limits of logins, which the code relies on.
import { expect, test } from 'vitest';
import { ACCESS } from '../../../server/limits.ts';
import { OIDC } from '../limits.ts';

test.each<[string, number, number]>([
  ['a token fits into the form of its exchange', 3 * OIDC.maxSubjectTokenLength, ACCESS.maxExchangeBytes],
  ['keys are tried again before they are old', OIDC.keyRetryMs, OIDC.keyRefreshMs],
  ['keys are fetched again before they end', OIDC.keyRefreshMs, OIDC.maxKeyAgeMs],
  ['clocks differ by less than a short token lives', OIDC.clockSkewMs, ACCESS.minShortTokenMs],
])('%s', (_name, smaller, larger) => {
  expect(smaller).toBeLessThan(larger);
});
