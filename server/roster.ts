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
  #roundSize = 0;
  /** From this place on all have been shown in this round. */
  #unseen = 0;

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

  showAll(look: (member: T) => void): void {
    this.#beginRound();
    this.show(1, look);
  }

  /**
   * Shows a share of them, and the next share the next time: who is here for a round of 1/share calls is shown in it.
   * From the last to the first: who goes meanwhile leaves its place to one that has been shown, or is new.
   */
  show(share: number, look: (member: T) => void): void {
    if (this.#unseen === 0) this.#beginRound();
    for (let left = Math.ceil(this.#roundSize * share); left > 0 && this.#unseen > 0; left--) {
      this.#unseen--;
      const member = this.#members[this.#unseen];
      if (member) look(member);
    }
  }

  #beginRound(): void {
    this.#roundSize = this.#members.length;
    this.#unseen = this.#roundSize;
  }
}
