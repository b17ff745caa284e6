// Problems: everything that is wrong with a configuration, reported together.
// Guarantee: `throwIfAny` reports each one once, in the order in which they were found.
import { AssayError } from '../errors.ts';

export class Problems {
  readonly #found: AssayError[] = [];

  add(problem: AssayError): void {
    this.#found.push(problem);
  }

  /** What `read` returns, or undefined if it refuses the value or there is no value. */
  read<Value, T>(value: Value | undefined, read: (value: Value) => T): T | undefined {
    if (value === undefined) return undefined;
    try {
      return read(value);
    } catch (error) {
      if (!(error instanceof AssayError)) throw error;
      this.add(error);
      return undefined;
    }
  }

  throwIfAny(): void {
    const [first, ...others] = this.#found;
    if (!first) return;
    if (others.length === 0) throw first;
    throw new AssayError(first.code, this.#found.map(({ detail }) => detail).join('\n'));
  }
}
