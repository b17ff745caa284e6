import { describe, expect, test } from 'vitest';
import { keepRefusal, localRefusal, remoteRefusal, whyLocal } from '../../../client/run/acceptance.ts';
import { type Evidence, evidenceStatusOf } from '../../../core/evidence.ts';
import { POLICY_VERSION } from '../../../hermeticity/verdict/policy-version.ts';

const DECLARED: Evidence = {
  tracer: 'assay-trace',
  tracerVersion: '1',
  policy: POLICY_VERSION,
  accesses: '',
  findings: [],
  untoldFindings: 0,
  gaps: [],
  sandboxed: false,
};
const finding = (kind: string, path = '', detail = ''): Evidence => ({
  ...DECLARED,
  findings: [
    { kind: 'read', path: 'config', detail: '' },
    { kind, path, detail },
  ],
});
const BY_ANOTHER_POLICY = { ...DECLARED, policy: 'assay-policy-0' };
const UNWATCHED = { ...DECLARED, tracer: '', tracerVersion: '', gaps: ['it failed under the tracer (x)'] };
const OFF_ONLY = { ...UNWATCHED, gaps: ['it ran with --hermetic=off'] };
const INCOMPLETE = { ...DECLARED, gaps: ['it traced another process'] };

const WARN = { hermetic: 'warn', keepUnproven: 'no', observed: false } as const;
const STRICT = { ...WARN, hermetic: 'strict', keepUnproven: 'shared' } as const;
const OFF = { ...WARN, hermetic: 'off' } as const;

const ALLOW = ', so nothing can prove its result (--keep-unproven=local keeps it)';

describe.each([
  ['declared', DECLARED, { status: 'declared' }],
  [
    'declared by another policy',
    BY_ANOTHER_POLICY,
    { status: 'declared', strict: `judged by assay-policy-0, not ${POLICY_VERSION}` },
  ],
  ['of another client', undefined, unwatched('nobody watched it')],
  ['unwatched', UNWATCHED, unwatched('nobody watched it: it failed under the tracer (x)')],
  [
    'unwatched, after an attempt that used the network',
    { ...finding('net', '', '10.0.0.1:443'), tracer: '', gaps: ['it failed under the tracer (x)'] },
    unwatched('it used the network: 10.0.0.1:443'),
  ],
  ['from a run that read more', finding('read', 'x'), observed()],
  ['from a run that found less', finding('absent', 'x'), observed()],
  ['from a run that listed more', finding('list', 'x'), observed()],
  ['from a run that probed more', finding('probe', '/home/x'), observed()],
  ['from a run that missed its earlier outputs', finding('stale-output', 'out'), observed()],
  ['from a run without the io_uring that it asked for', finding('io_uring', '', 'denied'), observed()],
  [
    'from a run that left a file',
    finding('write', 'left'),
    { ...observed(), local: 'its command left left, which no output names' },
  ],
  [
    'with a link that leads out',
    finding('symlink-escape', 'out/link', 'leads to /opt/x'),
    { ...observed(), local: 'out/link leads to /opt/x, outside the workspace' },
  ],
  ['from the network', finding('net', '', '10.0.0.1:443'), unproven('it used the network: 10.0.0.1:443')],
  [
    'from a daemon',
    finding('unix', '/run/docker.sock'),
    unproven('it connected to a socket of another program: /run/docker.sock'),
  ],
  ['with a survivor', finding('survivor'), unproven('it left a process running')],
  ['with a write outside', finding('write', '/var/x'), unproven('it wrote outside the workspace: /var/x')],
  ['with a write beside', finding('write', '../x'), unproven('it wrote outside the workspace: ../x')],
  ['that changed its input', finding('mutate', 'in'), unproven('it changed its own input in')],
  [
    'with a kind of a later version',
    finding('telepathy', 'x'),
    unproven('it depends on what no fact can stand for: telepathy x'),
  ],
  ['incomplete', INCOMPLETE, unproven('not all that it did was seen: it traced another process')],
])('a result that is %s', (_name, evidence, expected: Expected) => {
  const { status, strict, unproven, local } = expected;
  const refused = unproven && `${unproven}${ALLOW}`;
  const said = (why: string | undefined) => why && `the remote’s result is ${why}`;
  const saidLocal = local && `the remote’s result holds on one machine only: ${local}`;

  test('has its status', () => {
    expect(evidenceStatusOf(evidence)).toBe(status);
  });

  test('is kept and accepted here, unless nothing can prove it or strict refuses it', () => {
    expect(keepRefusal(evidence, WARN)).toBe(refused);
    expect(localRefusal(evidence, WARN)).toBe(refused && `${status}: ${refused}`);
    for (const keepUnproven of ['local', 'shared'] as const) {
      expect(keepRefusal(evidence, { ...WARN, keepUnproven })).toBe(undefined);
      expect(localRefusal(evidence, { ...WARN, keepUnproven })).toBe(undefined);
    }
    expect(localRefusal(evidence, STRICT)).toBe(strict);
  });

  test('is shared, and accepted from a remote, if that is safe or asked for', () => {
    for (const keepUnproven of ['no', 'local'] as const)
      expect(remoteRefusal(evidence, { ...WARN, keepUnproven })).toBe(
        said(refused && `${status}: ${refused.replace('=local keeps', '=shared takes')}`) ?? saidLocal,
      );
    expect(remoteRefusal(evidence, { ...WARN, keepUnproven: 'shared' })).toBe(saidLocal);
    expect(remoteRefusal(evidence, STRICT)).toBe(said(strict));
    expect(whyLocal(evidence, { ...WARN, keepUnproven: 'shared' })).toBe(local);
    const unshared = unproven === undefined ? local : `it is ${status}`;
    expect(whyLocal(evidence, { ...WARN, keepUnproven: 'local' })).toBe(unshared);
  });
});

test('the refusal of a step names the field that keeps unproven results', () => {
  expect(keepRefusal(finding('net', '', 'x'), { ...WARN, name: 'build' })).toContain(
    '("keepUnproven": "local" in assay.json keeps it)',
  );
});

describe('a run with --hermetic=off', () => {
  test('keeps and takes an unwatched result here, and shares none', () => {
    for (const evidence of [UNWATCHED, OFF_ONLY]) {
      expect(keepRefusal(evidence, OFF)).toBe(undefined);
      expect(localRefusal(evidence, OFF)).toBe(undefined);
      expect(whyLocal(evidence, OFF)).toBe('it is unwatched');
      expect(remoteRefusal(evidence, OFF)).toContain('the remote’s result is unwatched');
    }
  });

  test('keeps no unproven result of a watched run', () => {
    expect(localRefusal(INCOMPLETE, OFF)).toContain('unproven');
  });

  test('makes a result that no watched run takes', () => {
    const why = 'unwatched: it ran with --hermetic=off, and only such a run takes it';
    for (const keepUnproven of ['no', 'local', 'shared'] as const)
      expect(localRefusal(OFF_ONLY, { ...WARN, keepUnproven })).toBe(why);
    expect(localRefusal(OFF_ONLY, { ...OFF, observed: true })).toContain('unwatched');
  });
});

test('a run with observed inputs takes no unwatched result', () => {
  for (const evidence of [undefined, UNWATCHED])
    expect(remoteRefusal(evidence, { ...WARN, keepUnproven: 'shared', observed: true })).toContain(
      'the remote’s result is unwatched',
    );
});

interface Expected {
  readonly status: string;
  readonly strict?: string;
  readonly unproven?: string;
  readonly local?: string;
}

function observed(): Expected {
  return { status: 'observed', strict: 'observed, not declared' };
}

function unproven(why: string): Expected {
  return { status: 'unproven', strict: 'unproven, not declared', unproven: why };
}

function unwatched(why: string): Expected {
  return { status: 'unwatched', strict: 'unwatched, not declared', unproven: why };
}
