import { expect, test } from 'vitest';
import { type Evidence, encodeEvidence, NO_TRACER, WATCHING_OFF } from '../../core/evidence.ts';
import { takesPrecedence } from '../../core/precedence.ts';
import type { ActionResult } from '../../core/proto/generated/reapi.ts';
import { emptyResult } from '../../core/result.ts';

const DECLARED: Evidence = {
  tracer: 'assay-trace',
  tracerVersion: '1',
  policy: 'p',
  accesses: '',
  findings: [],
  untoldFindings: 0,
  gaps: [],
  sandboxed: false,
};

function result(evidence: Partial<Evidence> | undefined, exitCode = 0): ActionResult {
  const auxiliaryMetadata = evidence ? [encodeEvidence({ ...DECLARED, ...evidence })] : [];
  return { ...emptyResult(exitCode), executionMetadata: { worker: '', auxiliaryMetadata } };
}

const OFF_ONLY = result({ tracer: NO_TRACER, gaps: [WATCHING_OFF] });
const UNWATCHED = result({ tracer: NO_TRACER, gaps: ['it failed under the tracer'] });
const UNPROVEN = result({ gaps: ['a gap'] });
const OBSERVED = result({ findings: [{ kind: 'read', path: 'x', detail: '' }] });
const OTHER_CLIENT = result(undefined);
const PROVEN = result({});

test.each([
  ['a proven result', PROVEN, [OFF_ONLY, UNWATCHED, UNPROVEN]],
  ['an observed result', OBSERVED, [OFF_ONLY, UNWATCHED, UNPROVEN]],
  ['an unproven result', UNPROVEN, [OFF_ONLY]],
  ['an unwatched result that is kept on purpose', UNWATCHED, [OFF_ONLY]],
  ['a result of --hermetic=off', OFF_ONLY, []],
  ['a result of another client', OTHER_CLIENT, []],
])('%s takes the place only of what is proven less', (_name, second, givesWay) => {
  const all = [OFF_ONLY, UNWATCHED, UNPROVEN, OBSERVED, PROVEN, OTHER_CLIENT];
  expect(all.filter((first) => takesPrecedence(second, first))).toEqual(givesWay);
});

test('a success takes the place of every failure, and a failure of no success', () => {
  expect(takesPrecedence(OTHER_CLIENT, result({}, 1))).toBe(true);
  expect(takesPrecedence(result({}, 1), OFF_ONLY)).toBe(false);
});

test('malformed evidence takes no place', () => {
  const value = Buffer.from([0xff]);
  const typeUrl = 'type.googleapis.com/assay.v1.Evidence';
  const forged = { ...PROVEN, executionMetadata: { worker: '', auxiliaryMetadata: [{ typeUrl, value }] } };
  expect(takesPrecedence(forged, OFF_ONLY)).toBe(false);
  expect(takesPrecedence(PROVEN, forged)).toBe(false);
});
