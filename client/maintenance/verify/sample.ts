// Reservoir sampling: a uniform sample of a stream of unknown length.

export class Sample<T> {
  readonly #size: number;
  readonly #random: () => number;
  readonly taken: T[] = [];
  #offered = 0;

  constructor(size: number, random: () => number = Math.random) {
    this.#size = size;
    this.#random = random;
  }

  offer(item: T): void {
    this.#offered++;
    if (this.taken.length < this.#size) {
      this.taken.push(item);
      return;
    }
    const index = Math.floor(this.#random() * this.#offered);
    if (index < this.#size) this.taken[index] = item;
  }
}
