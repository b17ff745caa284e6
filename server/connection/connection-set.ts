// A set of connections or transfers that a sweep visits a share at a time. Add and delete take constant time.
// Guarantee: a member that stays for a full round of sweeps is visited in that round.
//
// It is not a Set or Map. V8 links the hash tables that those outgrow, and keeps all of them, with every
// member they ever held, until a full collection of the heap. Here a member stores its own index, and delete
// moves the last member there.
//
// The members are spread over shards, round-robin. So members that were added together, and often time out
// together, are not visited together.

const SHARDS = 20;
const NOT_IN_SET = -1;

/** The position of a member. Only the set writes it. */
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

  /** Does nothing for a member that is not in the set. */
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

  /** Visits the next share of the members: 1/share calls visit all of them. */
  visitShare(share: number, visit: (member: T) => void): void {
    for (let shards = Math.ceil(share * SHARDS); shards > 0; shards--) {
      this.#visitShard(this.#membersOf(this.#nextToVisit), visit);
      this.#nextToVisit = (this.#nextToVisit + 1) % SHARDS;
    }
  }

  /** Iterates backwards: delete swaps in the last member, which was already visited or was just added. */
  #visitShard(members: readonly T[], visit: (member: T) => void): void {
    for (let index = members.length - 1; index >= 0; index--) {
      const member = members[index];
      if (member) visit(member);
    }
  }

  #membersOf(shard: number): T[] {
    const members = this.#shards[shard];
    if (!members) throw new Error(`no shard ${shard}`);
    return members;
  }
}
