// Codecs for protobuf's JSON format: names in camelCase (snake_case is accepted), 64-bit numbers as text,
// bytes in base64, times as RFC 3339. Fields with the default value are omitted.
//
// An unknown field is refused: ignoring it could drop an output.
import { AssayError } from '../../../core/errors.ts';
import type { Timestamp } from '../../../core/proto/generated/google/protobuf/timestamp.ts';

export interface Codec<T> {
  /** `json` is undefined for a missing field and for null. */
  read(json: unknown): T;
  /** Undefined for a field that is omitted. */
  write(value: T): unknown;
}

type Fields<T> = { readonly [Name in Exclude<keyof T, '_unknownFields'>]-?: Codec<T[Name]> };

export function message<T extends object>(fields: Fields<T>): Codec<T> {
  const codecs = Object.entries<Codec<unknown>>(fields);
  const known = new Map(
    codecs.flatMap(([name]) => [name, snakeCase(name)].map((spelled) => [spelled, name])),
  );
  return {
    read(json) {
      const given = new Map(
        entriesOf(json).map(([name, value]) => [known.get(name) ?? unknown(name), value]),
      );
      return Object.fromEntries(
        codecs.map(([name, codec]) => [name, codec.read(given.get(name) ?? undefined)]),
      ) as T;
    },
    write(value) {
      const written = codecs.map(([name, codec]) => [name, codec.write(Reflect.get(value, name))] as const);
      return Object.fromEntries(written.filter(([, json]) => json !== undefined));
    },
  };
}

export function optional<T>(codec: Codec<T>): Codec<T | undefined> {
  return {
    read: (json) => (json === undefined ? undefined : codec.read(json)),
    write: (value) => (value === undefined ? undefined : codec.write(value)),
  };
}

export function list<T>(codec: Codec<T>): Codec<T[]> {
  return {
    read(json = []) {
      return Array.isArray(json) ? json.map((item) => codec.read(item)) : refuse('a list', json);
    },
    write: (items) => (items.length === 0 ? undefined : items.map((item) => codec.write(item))),
  };
}

export const text: Codec<string> = {
  read(json = '') {
    return typeof json === 'string' && json.isWellFormed() ? json : refuse('text', json);
  },
  write: (value) => value || undefined,
};

export const flag: Codec<boolean> = {
  read: (json = false) => (typeof json === 'boolean' ? json : refuse('true or false', json)),
  write: (value) => value || undefined,
};

export const bytes: Codec<Buffer> = {
  read: (json = '') => (typeof json === 'string' ? Buffer.from(json, 'base64') : refuse('base64', json)),
  write: (value) => (value.length === 0 ? undefined : value.toString('base64')),
};

export function whole(least: number, most: number): Codec<number> {
  return {
    read(json = 0) {
      const value = typeof json === 'string' && /^-?\d+$/.test(json) ? Number(json) : json;
      const fits =
        typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most;
      return fits ? value : refuse(`a whole number from ${least} to ${most}`, json);
    },
    write: (value) => value || undefined,
  };
}

const size = whole(0, Number.MAX_SAFE_INTEGER);

/** A 64-bit number, which JSON has as text. */
export const int64: Codec<number> = {
  read: size.read,
  write: (value) => (value === 0 ? undefined : String(value)),
};

const TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/i;

export const timestamp: Codec<Timestamp> = {
  read(json) {
    const [, second, fraction = '', zone] = typeof json === 'string' ? (TIME.exec(json) ?? []) : [];
    const milliseconds = Date.parse(`${second}${zone}`);
    if (Number.isNaN(milliseconds)) return refuse('an RFC 3339 time', json);
    return { seconds: milliseconds / 1000, nanos: Number(fraction.padEnd(9, '0')) };
  },
  write({ seconds, nanos }) {
    const date = new Date(seconds * 1000);
    if (Number.isNaN(date.getTime())) return undefined;
    return date.toISOString().replace(/\.\d+Z$/, `.${String(nanos).padStart(9, '0')}Z`);
  },
};

function entriesOf(json: unknown): [string, unknown][] {
  const isObject = typeof json === 'object' && json !== null && !Array.isArray(json);
  return isObject ? Object.entries(json) : refuse('an object', json);
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function unknown(name: string): never {
  throw new AssayError('ASSAY_RESULT_MALFORMED', `the field ${JSON.stringify(name.slice(0, 80))} is unknown`);
}

function refuse(wanted: string, json: unknown): never {
  const given = (JSON.stringify(json) ?? 'nothing').slice(0, 80);
  throw new AssayError('ASSAY_RESULT_MALFORMED', `expected ${wanted}, found ${given}`);
}
