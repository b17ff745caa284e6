// A ring: the newest items of all that were ever added. Adding one takes constant time.

export class Ring<T> {
  readonly #size: number;
  readonly #items: T[] = [];
  #count = 0;

  constructor(size: number) {
    this.#size = size;
  }

  add(item: T): void {
    this.#items[this.#count % this.#size] = item;
    this.#count++;
  }

  /** Newest first. */
  *newest(): Generator<T, void, void> {
    const first = Math.max(0, this.#count - this.#size);
    for (let at = this.#count - 1; at >= first; at--) {
      const item = this.#items[at % this.#size];
      if (item !== undefined) yield item;
    }
  }
}
