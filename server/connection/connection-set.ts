// Who is here at the moment, where thousands come and go.
//
// No Set and no Map: their tables, given up as they are filled and emptied, lead one to the next, and once the first of them
// has become old, V8 keeps all that ever were in one of them until it tidies up the whole heap. Here each knows its place in
// an array, and leaves it to the last.
//
// The arrays are several, and who comes is put into one after the other: those who came together, and are often to go
// together, are not shown together.

const LANES = 20;
const NOWHERE = -1;

/** Begins at no place; only a roster changes it. */
export class Placed {
  place = NOWHERE;
  lane = 0;
}

export class Roster<T extends Placed> {
  readonly #lanes: T[][] = Array.from({ length: LANES }, () => []);
  #nextToFill = 0;
  #nextToShow = 0;

  add(member: T): void {
    member.lane = this.#nextToFill;
    member.place = this.#membersOf(member.lane).push(member) - 1;
    this.#nextToFill = (this.#nextToFill + 1) % LANES;
  }

  /** Who is gone already may go again. */
  delete(member: T): void {
    const { place } = member;
    const members = this.#membersOf(member.lane);
    const last = members.at(-1);
    if (!last || place === NOWHERE) return;
    members[place] = last;
    last.place = place;
    members.pop();
    member.place = NOWHERE;
  }

  showAll(look: (member: T) => void): void {
    for (const members of this.#lanes) this.#showLane(members, look);
  }

  /** Shows a share of them, and the next share the next time: who is here for a round of 1/share calls is shown in it. */
  show(share: number, look: (member: T) => void): void {
    for (let lanes = Math.ceil(share * LANES); lanes > 0; lanes--) {
      this.#showLane(this.#membersOf(this.#nextToShow), look);
      this.#nextToShow = (this.#nextToShow + 1) % LANES;
    }
  }

  /** From the last to the first: who goes meanwhile leaves its place to one that has been shown, or is new. */
  #showLane(members: readonly T[], look: (member: T) => void): void {
    for (let place = members.length - 1; place >= 0; place--) {
      const member = members[place];
      if (member) look(member);
    }
  }

  #membersOf(lane: number): T[] {
    const members = this.#lanes[lane];
    if (!members) throw new Error(`there is no lane ${lane}`);
    return members;
  }
}
