import { describe, expect, test } from 'vitest';
import { acceptsLocal, remoteRefusal } from '../../../client/run/acceptance.ts';
import type { Evidence } from '../../../core/evidence.ts';
import { POLICY_VERSION } from '../../../hermeticity/verdict/policy-version.ts';

const CLEAN: Evidence = {
  tracer: 'assay-trace',
  tracerVersion: '1',
  policy: POLICY_VERSION,
  accesses: '',
  findings: [],
  untoldFindings: 0,
  gaps: [],
  sandboxed: false,
};
const BY_ANOTHER_POLICY = { ...CLEAN, policy: 'assay-policy-0' };
const MARKED = { ...CLEAN, findings: [{ kind: 'read', path: 'secret.txt', detail: '' }] };
const INCOMPLETE = { ...CLEAN, gaps: ['it traced another process'] };

const WARN = { hermetic: 'warn', acceptMarked: false } as const;
const STRICT = { hermetic: 'strict', acceptMarked: true } as const;

describe.each([
  ['clean', CLEAN, { warn: undefined, strict: undefined }],
  [
    'clean by another policy',
    BY_ANOTHER_POLICY,
    { warn: undefined, strict: `clean by assay-policy-0, not ${POLICY_VERSION}` },
  ],
  [
    'marked',
    MARKED,
    { warn: 'marked: read secret.txt (--accept-marked would take it)', strict: 'marked, not clean' },
  ],
  [
    'incomplete',
    INCOMPLETE,
    {
      warn: 'marked: it traced another process (--accept-marked would take it)',
      strict: 'marked, not clean',
    },
  ],
  ['unwatched', undefined, { warn: undefined, strict: 'unwatched, not clean' }],
])('a result that is %s', (_name, evidence, refusals) => {
  const said = (refusal: string | undefined) => refusal && `the remote has a result that is ${refusal}`;

  test('is accepted from the local store, unless strict refuses it', () => {
    expect(acceptsLocal(evidence, WARN)).toBe(true);
    expect(acceptsLocal(evidence, STRICT)).toBe(refusals.strict === undefined);
  });

  test('is accepted from a remote or refused with a reason', () => {
    expect(remoteRefusal(evidence, WARN)).toBe(said(refusals.warn));
    expect(remoteRefusal(evidence, STRICT)).toBe(said(refusals.strict));
    expect(remoteRefusal(evidence, { ...WARN, acceptMarked: true })).toBe(undefined);
  });
});

test('the refusal of a step names the field that accepts marked results', () => {
  expect(remoteRefusal(MARKED, { ...WARN, name: 'build' })).toContain(
    '("acceptMarked": true in assay.json would',
  );
});
