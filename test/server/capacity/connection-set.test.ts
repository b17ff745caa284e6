import { expect, test } from 'vitest';
import { ConnectionSet, SetMember } from '../../../server/capacity/connection-set.ts';
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

test('visitAll visits every member once, also if the visitor deletes each', () => {
  const all = members(100);
  const set = setOf(all);
  for (const isDeleting of [false, true])
    set.visitAll((member) => {
      member.shown++;
      if (isDeleting) set.delete(member);
    });
  set.visitAll(() => expect.unreachable('all were deleted'));
  expect(all.every(({ shown }) => shown === 2)).toBe(true);
});

test(`a member that stays is visited, whatever is added and deleted meanwhile (seed ${SEED})`, () => {
  const random = new Random(SEED);
  for (let trial = 0; trial < 200; trial++) {
    const staying = members(random.below(30));
    const others = members(random.below(30));
    const set = setOf(random.shuffled([...staying, ...others]));
    const change = () => {
      for (const other of others) {
        if (random.below(3) === 0) set.delete(other);
        if (other.index < 0 && random.below(3) === 0) set.add(other);
      }
    };
    change();
    set.visitAll((member) => {
      member.shown++;
      if (random.below(4) === 0) change();
    });
    expect(
      staying.every(({ shown }) => shown > 0),
      `trial ${trial}`,
    ).toBe(true);
  }
});
