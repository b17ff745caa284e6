import { expect, test } from 'vitest';
import { Placed, Roster } from '../../../server/connection/connection-set.ts';
import { Random } from '../../rig/random.ts';

const SEED = Number(process.env.ASSAY_TEST_SEED ?? 20261116);

class Guest extends Placed {
  shown = 0;
}

function rosterOf(guests: readonly Guest[]): Roster<Guest> {
  const roster = new Roster<Guest>();
  for (const guest of guests) roster.add(guest);
  return roster;
}

const guests = (count: number) => Array.from({ length: count }, () => new Guest());
const note = (guest: Guest) => {
  guest.shown++;
};

test('shows everybody once in a round, a share at a time', () => {
  const all = guests(100);
  const roster = rosterOf(all);
  for (let call = 0; call < 20; call++) {
    const before = all.filter(({ shown }) => shown > 0).length;
    roster.show(1 / 20, note);
    expect(all.filter(({ shown }) => shown > 0).length - before).toBe(5);
  }
  expect(all.map(({ shown }) => shown)).toEqual(all.map(() => 1));
});

test('does not show those together who came together', () => {
  const all = guests(1000);
  const roster = rosterOf(all);
  const cameTogether = all.slice(400, 500);
  for (let call = 1; call <= 20; call++) {
    roster.show(1 / 20, note);
    expect(cameTogether.filter(({ shown }) => shown > 0).length).toBe(5 * call);
  }
});

test('is through in the same number of calls when whoever is shown goes', () => {
  const all = guests(1000);
  const roster = rosterOf(all);
  for (let call = 0; call < 20; call++) {
    roster.show(1 / 20, (guest) => {
      note(guest);
      roster.delete(guest);
    });
  }
  expect(all.every(({ shown }) => shown === 1)).toBe(true);
});

test('shows everybody at once, wherever a round is', () => {
  const all = guests(10);
  const roster = rosterOf(all);
  roster.show(0.3, () => {});
  roster.showAll((guest) => {
    note(guest);
    roster.delete(guest);
  });
  expect(all.every(({ shown }) => shown === 1)).toBe(true);
});

test(`who stays for two rounds is shown, whoever comes and goes meanwhile (seed ${SEED})`, () => {
  const random = new Random(SEED);
  for (let trial = 0; trial < 200; trial++) {
    const staying = guests(random.below(30));
    const others = guests(random.below(30));
    const roster = rosterOf(random.shuffled([...staying, ...others]));
    const calls = 1 + random.below(10);
    for (let call = 0; call < random.below(calls); call++) roster.show(1 / calls, () => {});
    for (let call = 0; call < 2 * calls; call++) {
      for (const other of others) {
        if (random.below(3) === 0) roster.delete(other);
        if (other.place < 0 && random.below(3) === 0) roster.add(other);
      }
      roster.show(1 / calls, note);
    }
    expect(
      staying.every(({ shown }) => shown > 0),
      `trial ${trial}`,
    ).toBe(true);
  }
});
