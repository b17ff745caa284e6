// A map with a bound, for memos. An entry that is set becomes the newest; beyond the bound the oldest one goes.
// Guaranteed: it never holds more than `most` entries. A lookup changes no order and costs what it costs in a Map.

export class BoundedMap<Key, Value> extends Map<Key, Value> {
  readonly #most: number;

  constructor(most: number) {
    super();
    this.#most = most;
  }

  override set(key: Key, value: Value): this {
    this.delete(key);
    if (this.size >= this.#most) for (const oldest of this.keys().take(1)) this.delete(oldest);
    return super.set(key, value);
  }
}
