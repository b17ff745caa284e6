// Some of many, each with the same chance, without knowing how many there will be.

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
    const place = Math.floor(this.#random() * this.#offered);
    if (place < this.#size) this.taken[place] = item;
  }
}
