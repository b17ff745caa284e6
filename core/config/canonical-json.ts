// The canonical text of a JSON value, as RFC 8785 defines it: no spaces, keys in the order of their UTF-16 units.
// Guarantees: equal values have the same text, in whatever order their keys were set. What is no JSON, contains
// itself, nests too deeply or is too long is refused, and the message names the place.
import { AssayError, type ErrorCode } from '../errors.ts';

interface CanonicalBounds {
  /** The code of every refusal. */
  readonly code: ErrorCode;
  readonly maxDepth: number;
  /** Of the text, in UTF-16 units. */
  readonly maxLength: number;
}

export function canonicalJson(value: unknown, bounds: CanonicalBounds): string {
  const writer = new Writer(bounds);
  writer.write(value);
  return writer.text;
}

/** Keys and indexes that a message shows. */
const SHOWN_DEPTH = 8;

class Writer {
  text = '';
  readonly #bounds: CanonicalBounds;
  /** The objects that contain the value at hand, and the keys and indexes that lead to it. */
  readonly #containers = new Set<object>();
  readonly #path: (string | number)[] = [];

  constructor(bounds: CanonicalBounds) {
    this.#bounds = bounds;
  }

  write(value: unknown): void {
    if (value === null || typeof value === 'boolean') this.#add(String(value));
    else if (typeof value === 'string') this.#addText(value);
    else if (typeof value === 'number' && Number.isFinite(value)) this.#add(JSON.stringify(value));
    else if (typeof value === 'object') this.#writeContainer(value);
    else
      throw this.#refusal(
        `is ${typeof value === 'number' ? value : `of type ${typeof value}`}, which is no JSON`,
      );
  }

  #writeContainer(value: object): void {
    if (this.#containers.has(value)) throw this.#refusal('contains itself');
    if (this.#containers.size === this.#bounds.maxDepth)
      throw this.#refusal(`nests deeper than ${this.#bounds.maxDepth}`);
    this.#containers.add(value);
    if (Array.isArray(value)) this.#writeArray(value);
    else if (isPlain(value)) this.#writeObject(value);
    else throw this.#refusal('is an instance of a class, which is no JSON');
    this.#containers.delete(value);
  }

  #writeArray(values: readonly unknown[]): void {
    this.#add('[');
    for (let at = 0; at < values.length; at++) {
      if (at > 0) this.#add(',');
      this.#writeAt(at, values[at]);
    }
    this.#add(']');
  }

  #writeObject(value: object): void {
    if (Object.getOwnPropertySymbols(value).length > 0) throw this.#refusal('has a symbol as a key');
    this.#add('{');
    for (const [at, key] of Object.keys(value).sort().entries()) {
      if (at > 0) this.#add(',');
      this.#addText(key);
      this.#add(':');
      this.#writeAt(key, Reflect.get(value, key));
    }
    this.#add('}');
  }

  #writeAt(key: string | number, value: unknown): void {
    this.#path.push(key);
    this.write(value);
    this.#path.pop();
  }

  #addText(text: string): void {
    if (!text.isWellFormed()) throw this.#refusal('has a text that is not valid Unicode');
    if (text.length > this.#bounds.maxLength) throw this.#tooLong();
    this.#add(JSON.stringify(text));
  }

  #add(text: string): void {
    this.text += text;
    if (this.text.length > this.#bounds.maxLength) throw this.#tooLong();
  }

  #tooLong(): AssayError {
    return this.#refusal(`is longer than ${this.#bounds.maxLength} characters as JSON`);
  }

  #refusal(why: string): AssayError {
    const path = this.#path.slice(0, SHOWN_DEPTH).map((part) => `[${shown(part)}]`);
    return new AssayError(this.#bounds.code, `the value${path.join('')} ${why}`);
  }
}

function shown(part: string | number): string {
  return typeof part === 'number' ? String(part) : JSON.stringify(part.slice(0, 40));
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
