// The states of one publication.
import { expect, test } from 'vitest';
import { remembering } from '../../../client/path-sets/remembered-states.ts';
import { parseHash } from '../../../core/digest.ts';
import { type ObservedPath, type PathSet, resultKey } from '../../../core/path-set.ts';

const KEY = parseHash('a'.repeat(64));
const READ: ObservedPath = {
  root: '',
  path: 'usr/lib/library.so',
  names: false,
  state: `file ${'1'.repeat(64)}`,
  left: '',
  without: [],
  lens: '',
  shown: [],
  note: '',
};
const MISSED: ObservedPath = { ...READ, path: 'usr/lib/other.so', state: 'absent' };
const SET: PathSet = [READ, MISSED];

test('a path that changed after the run was sealed does not lead to its result', () => {
  const changed = () => `file ${'2'.repeat(64)}`;
  const sealed = resultKey(KEY, SET, ({ state }) => state);
  expect(resultKey(KEY, SET, remembering(changed, SET))).toEqual(sealed);
  expect(resultKey(KEY, SET, remembering(changed))).not.toEqual(sealed);
});

test('the state of another path is read once', () => {
  let reads = 0;
  const stateOf = remembering(() => `read ${++reads}`, SET);
  const other = { ...READ, path: 'usr/lib/third.so' };
  expect([stateOf(other), stateOf({ ...other }), stateOf(READ)]).toEqual(['read 1', 'read 1', READ.state]);
  // That it was absent is another question than what is there.
  expect(stateOf({ ...READ, state: 'absent' })).toBe('read 2');
});

test('two listings of a folder with different lenses have states of their own', () => {
  const stateOf = remembering(({ lens }) => `names ${lens}`);
  const listing = { ...READ, path: 'home/project', names: true };
  expect([stateOf({ ...listing, lens: 'tsc-1' }), stateOf(listing)]).toEqual(['names tsc-1', 'names ']);
});
