// Who is here at the moment, where thousands come and go.
//
// No Set and no Map: their tables, given up as they are filled and emptied, lead one to the next, and once the first of them
// has become old, V8 keeps all that ever were in one of them until it tidies up the whole heap. Here each knows its place in
// an array, and leaves it to the last.

const NOWHERE = -1;

/** Begins at no place; only a roster changes it. */
export class Placed {
  place = NOWHERE;
}

export class Roster<T extends Placed> {
  readonly #members: T[] = [];

  add(member: T): void {
    member.place = this.#members.push(member) - 1;
  }

  /** Who is gone already may go again. */
  delete(member: T): void {
    const { place } = member;
    const last = this.#members.at(-1);
    if (!last || place === NOWHERE) return;
    this.#members[place] = last;
    last.place = place;
    this.#members.pop();
    member.place = NOWHERE;
  }

  /** From the last to the first: who goes meanwhile leaves its place to one that was looked at. */
  *[Symbol.iterator](): Generator<T, void, void> {
    for (let place = this.#members.length - 1; place >= 0; place--) {
      const member = this.#members[place];
      if (member) yield member;
    }
  }
}
