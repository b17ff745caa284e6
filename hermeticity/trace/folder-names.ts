// The names and types that a listing showed, at the moment of the listing.
// Encoded as the native tracer sends them: for each entry its type, its name and a NUL. They are decoded when somebody
// asks: most listings of a toolchain are compared by their bytes only.
import { lstatSync, readdirSync } from 'node:fs';
import { nameFromBytes } from '../../core/path.ts';
import { type AbsPath, toBytes } from '../../system/paths/absolute-path.ts';

/** A file, a folder, a symbolic link, anything else. */
export type EntryType = 'f' | 'd' | 'l' | 'o';

/** The name may not be UTF-8, or begins with the marker of an encoded name. */
const NOT_PLAIN = /\ufffd|%bytes:/;

const TYPES: readonly EntryType[] = ['f', 'd', 'l', 'o'];

export class FolderNames {
  readonly #encoded: Buffer;
  #entries: ReadonlyMap<string, EntryType> | undefined;

  constructor(encoded: Buffer) {
    this.#encoded = encoded;
  }

  static of(entries: Iterable<readonly [string, EntryType]>): FolderNames {
    const names = new FolderNames(Buffer.alloc(0));
    names.#entries = new Map(entries);
    return names;
  }

  get entries(): ReadonlyMap<string, EntryType> {
    this.#entries ??= decode(this.#encoded);
    return this.#entries;
  }
}

function decode(bytes: Buffer): ReadonlyMap<string, EntryType> {
  const text = bytes.toString('utf8');
  const isPlain = !NOT_PLAIN.test(text);
  const pieces = isPlain ? text.split('\0') : bytes.toString('latin1').split('\0');
  pieces.pop();
  const entries = new Map<string, EntryType>();
  for (const piece of pieces) {
    const type = TYPES.find((one) => one === piece[0]) ?? 'o';
    const name = piece.slice(1);
    entries.set(isPlain ? name : nameFromBytes(Buffer.from(name, 'latin1')), type);
  }
  return entries;
}

/** The names in a folder now. Throws if it can't be read. */
export function namesNow(folder: AbsPath): FolderNames {
  const entries = readdirSync(toBytes(folder), { withFileTypes: true });
  const isPlain = !entries.some(({ name }) => NOT_PLAIN.test(name));
  return FolderNames.of(isPlain ? entries.map((entry) => [entry.name, typeOf(entry)]) : namesAsBytes(folder));
}

/** Bun returns no types when names are asked for as bytes, so each entry gets an lstat. */
function namesAsBytes(folder: AbsPath): (readonly [string, EntryType])[] {
  const around = Buffer.concat([toBytes(folder), Buffer.from('/')]);
  return readdirSync(toBytes(folder), { encoding: 'buffer' }).flatMap((bytes) => {
    const stats = lstatSync(Buffer.concat([around, bytes]), { throwIfNoEntry: false });
    return stats ? [[nameFromBytes(bytes), typeOf(stats)] as const] : [];
  });
}

function typeOf(entry: { isFile(): boolean; isDirectory(): boolean; isSymbolicLink(): boolean }): EntryType {
  if (entry.isFile()) return 'f';
  if (entry.isDirectory()) return 'd';
  return entry.isSymbolicLink() ? 'l' : 'o';
}
