import { expect, test } from 'vitest';
import { ConnectionSet, SetMember } from '../../../server/connection/connection-set.ts';
import { Random } from '../../rig/random.ts';

const SEED = Number(process.env.ASSAY_TEST_SEED ?? 20261116);

class Member extends SetMember {
  shown = 0;
}

function setOf(members: readonly Member[]): ConnectionSet<Member> {
  const set = new ConnectionSet<Member>();
  for (const member of members) set.add(member);
  return set;
}

const members = (count: number) => Array.from({ length: count }, () => new Member());
const note = (member: Member) => {
  member.shown++;
};

test('visitShare visits every member once in a round, a share at a time', () => {
  const all = members(100);
  const set = setOf(all);
  for (let call = 0; call < 20; call++) {
    const before = all.filter(({ shown }) => shown > 0).length;
    set.visitShare(1 / 20, note);
    expect(all.filter(({ shown }) => shown > 0).length - before).toBe(5);
  }
  expect(all.map(({ shown }) => shown)).toEqual(all.map(() => 1));
});

test('visitShare spreads members that were added together over the round', () => {
  const all = members(1000);
  const set = setOf(all);
  const cameTogether = all.slice(400, 500);
  for (let call = 1; call <= 20; call++) {
    set.visitShare(1 / 20, note);
    expect(cameTogether.filter(({ shown }) => shown > 0).length).toBe(5 * call);
  }
});

test('visitShare needs the same number of calls if the visitor deletes each member', () => {
  const all = members(1000);
  const set = setOf(all);
  for (let call = 0; call < 20; call++) {
    set.visitShare(1 / 20, (member) => {
      note(member);
      set.delete(member);
    });
  }
  expect(all.every(({ shown }) => shown === 1)).toBe(true);
});

test('visitAll visits every member at once, even during a round', () => {
  const all = members(10);
  const set = setOf(all);
  set.visitShare(0.3, () => {});
  set.visitAll((member) => {
    note(member);
    set.delete(member);
  });
  expect(all.every(({ shown }) => shown === 1)).toBe(true);
});

test(`a member that stays for two rounds is visited, whatever is added and deleted meanwhile (seed ${SEED})`, () => {
  const random = new Random(SEED);
  for (let trial = 0; trial < 200; trial++) {
    const staying = members(random.below(30));
    const others = members(random.below(30));
    const set = setOf(random.shuffled([...staying, ...others]));
    const calls = 1 + random.below(10);
    for (let call = 0; call < random.below(calls); call++) set.visitShare(1 / calls, () => {});
    for (let call = 0; call < 2 * calls; call++) {
      for (const other of others) {
        if (random.below(3) === 0) set.delete(other);
        if (other.index < 0 && random.below(3) === 0) set.add(other);
      }
      set.visitShare(1 / calls, note);
    }
    expect(
      staying.every(({ shown }) => shown > 0),
      `trial ${trial}`,
    ).toBe(true);
  }
});
