// Texts of the workspace in which an installer wrote down where the workspace lies: they count without that place.
//
//   placed HASH | placed program HASH
//
// Guaranteed: two files with the same state are equal, but for the path of their own workspace in the same places. A
// path that leads elsewhere, into another clone or into /work/app2 from /work/app, counts as it is.
//
// Only files that installers write are such texts, and only the parts that they write: no file of a person, no code
// of a .pth file, nothing below the head of a script.
import { lstatSync, readFileSync, type Stats } from 'node:fs';
import { digestOf } from '../../core/digest.ts';
import { parseRelPath, type RelPath } from '../../core/path.ts';
import {
  type AbsPath,
  FILESYSTEM_ROOT,
  foldersAbove,
  inside,
  isAtOrBelow,
  parentFolder,
  relativeIn,
  toBytes,
} from '../../system/paths/absolute-path.ts';
import { LENSES } from '../limits.ts';

type Part = (line: string, number: number) => boolean;

interface Kind {
  readonly path: RegExp;
  /** The lines in which the path of the workspace does not count. */
  readonly part: Part;
}

const ALL: Part = () => true;
/** The first line names the interpreter. For a long path, the second and third do: a shell starts it. */
const HEAD_LINES = 3;
const SITE = String.raw`(?:^|\/)lib(?:64)?\/(?:python|pypy)[\d.]*\/site-packages\/`;

/** Of a virtual environment, the folder around a pyvenv.cfg. */
const ENVIRONMENT: readonly Kind[] = [
  { path: /(?:^|\/)pyvenv\.cfg$/, part: ALL },
  { path: /(?:^|\/)bin\/activate(?:\.\w+)?$/i, part: ALL },
  { path: /(?:^|\/)bin\/[^/]+$/, part: (_, number) => number < HEAD_LINES },
  { path: new RegExp(`${SITE}[^/]+\\.egg-link$`), part: ALL },
  /* Python runs the lines that begin with import. */
  { path: new RegExp(`${SITE}[^/]+\\.pth$`), part: (line) => !/^import[ \t]/.test(line) },
  /* How setuptools, scikit-build and meson find the modules of an editable installation. */
  { path: new RegExp(`${SITE}_[^/]*editable[^/]*\\.py$`), part: ALL },
  { path: new RegExp(`${SITE}[^/]+\\.dist-info/(?:direct_url\\.json|RECORD)$`), part: ALL },
];

/** The scripts that pnpm writes for a package's commands. */
const SHIM: Kind = {
  path: /(?:^|\/)node_modules\/\.bin\/[^/]+$/,
  part: (line) => /^\s*export NODE_PATH="/.test(line),
};

const RECORD = /\.dist-info\/RECORD$/;

/** Whether an installer wrote the file, by its name and by what lies around it. */
export function mayBePlaced(workspace: AbsPath, path: AbsPath): boolean {
  const relative = relativeIn(workspace, path);
  if (relative === undefined || workspace === FILESYSTEM_ROOT) return false;
  if (SHIM.path.test(relative)) return true;
  return ENVIRONMENT.some((kind) => kind.path.test(relative)) && isInEnvironment(workspace, path);
}

/** Undefined if the file does not name the workspace, or is no such text: then it counts by its bytes. */
export function placedState(workspace: AbsPath, path: AbsPath, stats: Stats): string | undefined {
  const hash = placedHash(workspace, path, stats);
  if (hash === undefined) return undefined;
  return `placed ${(stats.mode & 0o100) !== 0 ? 'program ' : ''}${hash}`;
}

function placedHash(workspace: AbsPath, path: AbsPath, stats: Stats): string | undefined {
  const relative = relativeIn(workspace, path) ?? '';
  const kind = [SHIM, ...ENVIRONMENT].find((one) => one.path.test(relative));
  if (!kind || workspace === FILESYSTEM_ROOT || !stats.isFile() || stats.size > LENSES.placedBytes)
    return undefined;
  const bytes = readFileSync(toBytes(path));
  if (bytes.includes(0)) return undefined;
  const place = toBytes(workspace).toString('latin1');
  const lines = bytes.toString('latin1').split('\n');
  const split = lines.map((line, number) => (kind.part(line, number) ? withoutPlace(line, place) : [line]));
  const isRecord = RECORD.test(relative);
  const rows = isRecord ? split.map((row) => withoutOwnHash(row, workspace, path)) : split;
  if (rows.every((row) => row.length === 1 && typeof row[0] === 'string')) return undefined;
  return digestOf(Buffer.from(JSON.stringify(rows))).hash;
}

/** The texts between the occurrences of the place. */
type Row = readonly (string | readonly string[])[];

const BEFORE = /(?:^|[\s"'=:,([{!]|file:\/\/)$/;
const AFTER = /^(?:$|[/\s"',:;)\]}])/;

function withoutPlace(line: string, place: string): Row {
  const pieces: string[] = [];
  let from = 0;
  for (let at = line.indexOf(place); at >= 0; at = line.indexOf(place, at + 1)) {
    const end = at + place.length;
    if (at < from || !BEFORE.test(line.slice(0, at)) || !AFTER.test(line.slice(end))) continue;
    pieces.push(line.slice(from, at));
    from = end;
  }
  return [...pieces, line.slice(from)];
}

/** pip ends its rows with both characters of a line break. */
const RECORDED = /^([^,"]+),sha256=([\w-]+),\d+(\r?)$/;

/** A row of RECORD has the hash of a file. If that file names the workspace, the row counts by the file without it. */
function withoutOwnHash(row: Row, workspace: AbsPath, record: AbsPath): Row {
  const [, name = '', hash, end = ''] = row.length === 1 ? (RECORDED.exec(String(row[0])) ?? []) : [];
  if (hash === undefined || !/(?:^|\/)(?:bin\/|direct_url\.json$|[^/]+\.pth$|_[^/]*editable)/.test(name))
    return row;
  const site = parentFolder(parentFolder(record));
  const file = normalised(site, name);
  if (file === undefined || !isAtOrBelow(file, workspace) || RECORD.test(file)) return row;
  const stats = lstatSync(toBytes(file), { throwIfNoEntry: false });
  if (!stats?.isFile() || stats.size > LENSES.placedBytes || sha256Of(file) !== hash) return row;
  const placed = placedHash(workspace, file, stats);
  return placed === undefined ? row : [[name, placed, end]];
}

function sha256Of(file: AbsPath): string {
  return Buffer.from(digestOf(readFileSync(toBytes(file))).hash, 'hex').toString('base64url');
}

/** `name` may begin with "../", once for each folder up. */
function normalised(folder: AbsPath, name: string): AbsPath | undefined {
  let from = folder;
  let rest = name;
  for (; rest.startsWith('../'); rest = rest.slice(3)) from = parentFolder(from);
  try {
    return inside(from, parseRelPath(rest));
  } catch {
    return undefined;
  }
}

function isInEnvironment(workspace: AbsPath, path: AbsPath): boolean {
  for (const folder of foldersAbove(path)) {
    if (!isAtOrBelow(folder, workspace)) return false;
    const config = inside(folder, 'pyvenv.cfg' as RelPath);
    if (lstatSync(toBytes(config), { throwIfNoEntry: false })?.isFile()) return true;
  }
  return false;
}
