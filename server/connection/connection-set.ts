// Who is here at the moment, where thousands come and go.
//
// No Set and no Map: their tables, given up as they are filled and emptied, lead one to the next, and once the first of them
// has become old, V8 keeps all that ever were in one of them until it tidies up the whole heap. Here each knows its place in
// an array, and leaves it to the last.
//
// The arrays are several, and who comes is put into one after the other: those who came together, and are often to go
// together, are not shown together.

const SHARDS = 20;
const NOT_IN_SET = -1;

/** Begins at no index; only a roster changes it. */
export class SetMember {
  index = NOT_IN_SET;
  shard = 0;
}

export class ConnectionSet<T extends SetMember> {
  readonly #shards: T[][] = Array.from({ length: SHARDS }, () => []);
  #nextToFill = 0;
  #nextToVisit = 0;

  add(member: T): void {
    member.shard = this.#nextToFill;
    member.index = this.#membersOf(member.shard).push(member) - 1;
    this.#nextToFill = (this.#nextToFill + 1) % SHARDS;
  }

  /** Who is gone already may go again. */
  delete(member: T): void {
    const { index } = member;
    const members = this.#membersOf(member.shard);
    const last = members.at(-1);
    if (!last || index === NOT_IN_SET) return;
    members[index] = last;
    last.index = index;
    members.pop();
    member.index = NOT_IN_SET;
  }

  visitAll(visit: (member: T) => void): void {
    for (const members of this.#shards) this.#visitShard(members, visit);
  }

  /** Shows a share of them, and the next share the next time: who is here for a round of 1/share calls is shown in it. */
  visitShare(share: number, visit: (member: T) => void): void {
    for (let shards = Math.ceil(share * SHARDS); shards > 0; shards--) {
      this.#visitShard(this.#membersOf(this.#nextToVisit), visit);
      this.#nextToVisit = (this.#nextToVisit + 1) % SHARDS;
    }
  }

  /** From the last to the first: who goes meanwhile leaves its place to one that has been shown, or is new. */
  #visitShard(members: readonly T[], visit: (member: T) => void): void {
    for (let index = members.length - 1; index >= 0; index--) {
      const member = members[index];
      if (member) visit(member);
    }
  }

  #membersOf(shard: number): T[] {
    const members = this.#shards[shard];
    if (!members) throw new Error(`there is no shard ${shard}`);
    return members;
  }
}
