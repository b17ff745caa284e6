// The objects of mise's protocol: what a commit says, and the descriptions, metadata and folders that it leads to.
// Guarantee: an object whose bytes are not its canonical JSON, or that does not have the form of its version, is refused.
//
// Folders and commits are checked field by field, because their digests are what a result reaches. Of a description
// and of metadata only that is checked on which a server acts: mise adds fields there.
import { canonicalJson } from '../../core/config/canonical-json.ts';
import { AssayError } from '../../core/errors.ts';
import { fieldOf } from '../../server/http/json.ts';
import { type MiseDigest, parseDigestField } from './digest.ts';
import { MISE } from './limits.ts';

export interface Commit {
  readonly action: MiseDigest;
  readonly metadata: MiseDigest;
  /** Absent if the action has no outputs. */
  readonly outputRoot: MiseDigest | undefined;
}

const COMMIT_FIELDS = ['action', 'metadata', 'output_root', 'version'];

/** mise describes every task as an action of this kind. */
const KIND = 'task';

export function parseCommit(bytes: Buffer): Commit {
  const value = parseJson(bytes, 'the body');
  checkFields(value, COMMIT_FIELDS, 'an action result');
  const root = fieldOf(value, 'output_root') ?? undefined;
  return {
    action: parseDigestField(fieldOf(value, 'action')),
    metadata: parseDigestField(fieldOf(value, 'metadata')),
    outputRoot: root === undefined ? undefined : parseDigestField(root),
  };
}

export function encodeCommit({ action, metadata, outputRoot }: Commit): string {
  const fields = { action, metadata, ...(outputRoot && { output_root: outputRoot }), version: 1 };
  return canonicalJson(fields, BOUNDS);
}

/** The description of an action and the metadata of its result: of version 1, and of the kind of a task. */
export function checkOfTask(bytes: Buffer, what: string): void {
  const value = parseCanonical(bytes, what);
  if (fieldOf(value, 'version') !== 1 || fieldOf(value, 'kind') !== KIND)
    throw malformed(`${what} is not of version 1 and of the kind ${KIND}`);
}

interface Folder {
  readonly directories: readonly MiseDigest[];
  readonly files: readonly MiseDigest[];
}

const NODE_FIELDS = {
  directories: ['digest', 'mode', 'name'],
  files: ['digest', 'executable', 'mode', 'name'],
  symlinks: ['mode', 'name', 'target'],
} as const;

export function parseFolder(bytes: Buffer): Folder {
  const value = parseCanonical(bytes, 'a folder');
  checkFields(value, ['directories', 'files', 'symlinks', 'version'], 'a folder');
  const names = new Set<string>();
  const nodes = (list: keyof typeof NODE_FIELDS) =>
    checkedNodes(fieldOf(value, list), NODE_FIELDS[list], names);
  const digests = (list: 'directories' | 'files') =>
    nodes(list).map((node) => parseDigestField(fieldOf(node, 'digest')));
  for (const link of nodes('symlinks')) {
    const target = fieldOf(link, 'target');
    if (typeof target !== 'string' || target === '' || target.startsWith('/') || target.includes('\0'))
      throw malformed('a link has no target, or an absolute one');
  }
  return { directories: digests('directories'), files: digests('files') };
}

/** Each name once in all lists, and each list in the order of the bytes of its names. */
function checkedNodes(list: unknown, fields: readonly string[], names: Set<string>): readonly unknown[] {
  if (!Array.isArray(list)) throw malformed('a folder has the lists directories, files and symlinks');
  let last = Buffer.alloc(0);
  for (const node of list) {
    checkFields(node, fields, 'an entry of a folder');
    const name = fieldOf(node, 'name');
    const mode = fieldOf(node, 'mode');
    if (typeof mode !== 'number' || !Number.isInteger(mode) || mode < 0 || mode > 0o7777)
      throw malformed('an entry of a folder has no valid mode');
    if (typeof name !== 'string' || name === '' || /^\.{1,2}$|[/\0]/.test(name) || names.has(name))
      throw malformed('an entry of a folder has no name, an invalid one, or that of another entry');
    names.add(name);
    const bytes = Buffer.from(name);
    if (last.length > 0 && Buffer.compare(last, bytes) >= 0) throw malformed('a folder is not sorted');
    last = bytes;
  }
  return list;
}

function checkFields(value: unknown, allowed: readonly string[], what: string): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw malformed(`${what} is no object`);
  const unknown = Object.keys(value).find((field) => !allowed.includes(field));
  if (unknown !== undefined)
    throw malformed(`${what} has the unknown field ${JSON.stringify(unknown.slice(0, 40))}`);
  if (allowed.includes('version') && fieldOf(value, 'version') !== 1)
    throw malformed(`${what} is not of version 1`);
}

const BOUNDS = {
  code: 'ASSAY_BAD_MESSAGE',
  maxDepth: MISE.maxObjectDepth,
  maxLength: MISE.maxObjectBytes,
} as const;

/** The canonical text decides: it has no repeated key, no space, and no invalid UTF-8. */
function parseCanonical(bytes: Buffer, what: string): unknown {
  const value = parseJson(bytes, what);
  if (!Buffer.from(canonicalJson(value, BOUNDS)).equals(bytes))
    throw malformed(`${what} is no canonical JSON`);
  return value;
}

function parseJson(bytes: Buffer, what: string): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    throw malformed(`${what} is no JSON`);
  }
}

function malformed(why: string): AssayError {
  return new AssayError('ASSAY_BAD_MESSAGE', why);
}
