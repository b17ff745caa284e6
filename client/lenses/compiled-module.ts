// The state of a compiled Python module, as Python's importer acts on it:
//
//   compiled      there is none, or it was made from the source that lies beside its folder now
//   fits STATE    Python would use it, and nothing shows that it was made from that source
//   stale STATE   Python would compile the source again
//   STATE         its use does not depend on times: a checked or unchecked hash, or no compiled module at all
//
// STATE is that of the file by its bytes. Python trusts the size and the mtime of the source, in whole seconds. So a
// source that was replaced or edited and got its old mtime back still fits. Its ctime shows it, which nobody can set.
// A module that is `compiled` says nothing that its source, a fact of its own, does not say.
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  type Stats,
  statSync,
} from 'node:fs';
import { parseRelPath } from '../../core/path.ts';
import type { CompiledLens } from '../../hermeticity/lenses/file-lenses.ts';
import { type AbsPath, inside, parentFolder, toBytes } from '../../system/paths/absolute-path.ts';

const COMPILED_STATE = 'compiled';
const HEADER_BYTES = 16;
const FLAGS = 4;
const MTIME = 8;
const SIZE = 12;
/** The magic number of every version ends with a line break. */
const MAGIC_END = 0x0a0d;
/** Before the tag of the interpreter, to which pytest adds its own. */
const NAME = /^(.+)\/__pycache__\/([^/]+?)\.(?:cpython|pypy|graalpy)[^/]*\.pyc$/;

/** `bytes`: the state of the file by its bytes. */
export function compiledState(path: AbsPath, lens: CompiledLens, bytes: () => string): string {
  const isBySource = lens === 'pyc-source-1';
  const use = isInRealFolder(path) ? useOf(path) : undefined;
  if (isBySource && (use === 'absent' || use === 'source')) return COMPILED_STATE;
  if (use === undefined || use === 'absent') return bytes();
  return `${use === 'stale' ? 'stale' : 'fits'} ${bytes()}`;
}

/** `source`: it fits, and was made from the source. Undefined: times play no part. */
type Use = 'absent' | 'source' | 'fits' | 'stale' | undefined;

function useOf(path: AbsPath): Use {
  const own = lstatSync(toBytes(path), { throwIfNoEntry: false });
  if (!own) return 'absent';
  const header = own.isFile() ? headerOf(path) : undefined;
  if (!header || header.readUInt16LE(2) !== MAGIC_END || header.readUInt32LE(FLAGS) !== 0) return undefined;
  const source = sourceOf(path);
  if (!source || !fits(header, source.file)) return 'stale';
  return isOlder(source, own) ? 'source' : 'fits';
}

function headerOf(path: AbsPath): Buffer | undefined {
  const header = Buffer.alloc(HEADER_BYTES);
  const file = openSync(toBytes(path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    if (!fstatSync(file).isFile()) return undefined;
    return readSync(file, header, 0, HEADER_BYTES, 0) === HEADER_BYTES ? header : undefined;
  } finally {
    closeSync(file);
  }
}

interface Source {
  /** What Python finds there, through links. */
  readonly file: Stats;
  /** The entry itself. */
  readonly entry: Stats;
}

/** Where the source of a compiled module lies. */
export function sourceOfCompiled(path: AbsPath): AbsPath | undefined {
  const [, folder, name] = NAME.exec(path) ?? [];
  return folder === undefined ? undefined : inside(folder as AbsPath, parseRelPath(`${name}.py`));
}

function sourceOf(path: AbsPath): Source | undefined {
  const at = sourceOfCompiled(path);
  if (at === undefined) return undefined;
  const source = toBytes(at);
  const entry = lstatSync(source, { throwIfNoEntry: false });
  const file = entry && statSync(source, { throwIfNoEntry: false });
  return entry && file?.isFile() ? { entry, file } : undefined;
}

/** As Python compares: whole seconds and the size, 32 bits of each. */
function fits(header: Buffer, { mtimeMs, size }: Stats): boolean {
  const seconds = Math.trunc(mtimeMs / 1000) >>> 0;
  return header.readUInt32LE(MTIME) === seconds && header.readUInt32LE(SIZE) === size >>> 0;
}

/**
 * Whether the source has been as it is since before the module was written. An installer may write both within one
 * tick of the file system's clock: then the source must not have had its mtime set.
 */
function isOlder({ file, entry }: Source, own: Stats): boolean {
  const changedMs = Math.max(file.ctimeMs, entry.ctimeMs);
  return changedMs < own.ctimeMs || (changedMs === own.ctimeMs && file.mtimeMs === file.ctimeMs);
}

/** A __pycache__ that is a link leads to the modules of another folder. */
function isInRealFolder(path: AbsPath): boolean {
  const folder = lstatSync(toBytes(parentFolder(path)), { throwIfNoEntry: false });
  return folder === undefined || folder.isDirectory();
}
