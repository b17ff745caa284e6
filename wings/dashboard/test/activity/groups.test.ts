// Requests of other tools as runs: which of them belong together, and what is kept of them.
import { expect, test } from 'vitest';
import { parseNamespace } from '../../../../core/namespace.ts';
import { contentOf } from '../../../../server/history/documents.ts';
import { type Caller, Callers } from '../../../../server/request/caller.ts';
import type { HistoryDocument } from '../../../../store/history.ts';
import { addLookup, RequestGroups, type StoredLookups } from '../../activity/groups.ts';
import { DASHBOARD } from '../../limits.ts';

const WEB = parseNamespace('web');
const APP = parseNamespace('app');
const PAUSE = DASHBOARD.groupIdleMs + 1;

function lookedUp(
  groups: RequestGroups,
  caller: Caller,
  at: number,
  more: { identity?: string; app?: boolean } = {},
) {
  const { identity = 'ci', app = false } = more;
  const namespace = app ? APP : WEB;
  const group = groups.find(caller, namespace, { namespace, identity, at });
  const run = group?.id;
  if (group) addLookup(group, { at, tool: caller.tool, what: 'hit', namespace, identity, key: `${at}`, run });
  return run;
}

const callerOf = (agent: string) => new Callers().of({ 'user-agent': agent }, 'http');
const kinds = (documents: readonly HistoryDocument[]) => documents.map(({ kind }) => kind);

test('a group without an invocation is of one tool, identity and namespace, and ends with a pause', () => {
  const groups = new RequestGroups('p');
  const [bazel, nx] = [callerOf('bazel/8'), callerOf('nx/1')];
  const first = lookedUp(groups, bazel, 1);
  expect(lookedUp(groups, bazel, 2)).toBe(first);
  expect(lookedUp(groups, callerOf('bazel/8'), 3)).toBe(first);
  const others = [
    lookedUp(groups, nx, 4),
    lookedUp(groups, bazel, 5, { identity: 'other' }),
    lookedUp(groups, bazel, 6, { app: true }),
    lookedUp(groups, bazel, 3 + PAUSE),
  ];
  expect(new Set([first, ...others]).size).toBe(5);
  expect(lookedUp(groups, bazel, 4 + PAUSE)).toBe(others[3]);
});

test('a group that was flushed after its end begins again; one that goes on does not', () => {
  const groups = new RequestGroups('p');
  const bazel = callerOf('bazel/8');
  const first = lookedUp(groups, bazel, 1);
  expect(kinds(groups.flush(2, false))).toEqual(['run', 'run-lookups']);
  expect(groups.flush(3, false)).toEqual([]);
  expect(lookedUp(groups, bazel, 4)).toBe(first);
  expect(kinds(groups.flush(4 + PAUSE, false))).toEqual(['run', 'run-lookups']);
  expect(lookedUp(groups, bazel, 5 + PAUSE)).not.toBe(first);
});

test('Assay reports its runs itself, and groups have a bound', () => {
  const groups = new RequestGroups('p');
  expect(lookedUp(groups, callerOf('assay/1'), 1)).toBeUndefined();
  const bazel = callerOf('bazel/8');
  for (let n = 0; n < DASHBOARD.maxGroups; n++)
    expect(lookedUp(groups, bazel, 1, { identity: `${n}` })).toEqual(expect.any(String));
  expect(lookedUp(groups, bazel, 1, { identity: 'one more' })).toBeUndefined();
  expect(lookedUp(groups, bazel, 1, { identity: '7' })).toEqual(expect.any(String));
});

test('a group keeps its newest lookups, newest first', () => {
  const groups = new RequestGroups('p');
  const bazel = callerOf('bazel/8');
  const count = DASHBOARD.groupLookups + 3;
  for (let at = 1; at <= count; at++) lookedUp(groups, bazel, at);
  const [, details] = groups.flush(count, true);
  const lookups = (details && contentOf<StoredLookups>(details)?.lookups) ?? [];
  expect(lookups.map(({ key }) => Number(key))).toEqual(
    Array.from({ length: DASHBOARD.groupLookups }, (_, age) => count - age),
  );
  expect(lookups[0]).not.toHaveProperty('run');
});
