// Random values from a seed, so that a failure can be seen again: every test that uses it prints its seed in
// its title.
import { createCipheriv } from 'node:crypto';

/** Many random bytes in little time. */
export function noise(seed: number, length: number): Buffer {
  const key = Buffer.alloc(16);
  key.writeUInt32LE(seed);
  return createCipheriv('aes-128-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(length));
}

/** xorshift32: small, and the same on every machine. */
export class Random {
  private state: number;

  constructor(seed: number) {
    this.state = seed | 0 || 1;
  }

  /** A whole number from 0 up to, not including, `end`. */
  below(end: number): number {
    this.state ^= this.state << 13;
    this.state ^= this.state >>> 17;
    this.state ^= this.state << 5;
    return (this.state >>> 0) % end;
  }

  bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => this.below(256)));
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  }

  shuffled<T>(items: readonly T[]): T[] {
    const left = [...items];
    const result: T[] = [];
    while (left.length > 0) result.push(...left.splice(this.below(left.length), 1));
    return result;
  }
}
