// A set of connections or transfers that a sweep visits. Add and delete take constant time.
//
// It is not a Set or Map. V8 links the hash tables that those outgrow, and keeps all of them, with every
// member they ever held, until a full collection of the heap. Here a member stores its own index, and delete
// moves the last member there.

const NOT_IN_SET = -1;

/** The position of a member. Only the set writes it. */
export class SetMember {
  index = NOT_IN_SET;
}

export class ConnectionSet<T extends SetMember> {
  readonly #members: T[] = [];

  add(member: T): void {
    member.index = this.#members.push(member) - 1;
  }

  /** Does nothing for a member that is not in the set. */
  delete(member: T): void {
    const { index } = member;
    const last = this.#members.at(-1);
    if (!last || index === NOT_IN_SET) return;
    this.#members[index] = last;
    last.index = index;
    this.#members.pop();
    member.index = NOT_IN_SET;
  }

  /** Iterates backwards: delete swaps in the last member, which was already visited or was just added. */
  visitAll(visit: (member: T) => void): void {
    for (let index = this.#members.length - 1; index >= 0; index--) {
      const member = this.#members[index];
      if (member) visit(member);
    }
  }
}
