// The inputs of a request: paths, and the digests that Bazel sent with them. The key is made of those; when a result is
// about to be kept, the files must still have them, and must not have been touched since the request came.
import { realpathSync, type Stats, statSync } from 'node:fs';
import { isHash } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { parseRelPath, type RelPath, toSystemPath } from '../../../core/path.ts';
import { type Entry, encodeDirectories } from '../../../core/tree.ts';
import type { FileDigests } from '../../files/file-digest.ts';
import { rowOf, type StatRow, sameRow } from '../../files/stat-table.ts';
import type { InputSource, Inputs } from '../../inputs/inputs.ts';

/** What @bazel/worker makes of a request's inputs: the digest's hex text, in hex once more. */
export type SentInputs = Readonly<Record<string, string | null>>;

/** Of a request that came without any: there is no telling what it reads, so it is never looked up or kept. */
export const NO_INPUTS: SentInputs = {};

/** Throws where Bazel has left out a digest, or sent one that is no SHA-256: such a request has no key. */
export function bazelInputs(sent: SentInputs, workspace: string, digests: FileDigests): InputSource {
  const known = Object.entries(sent).map(([path, digest]) => knownFile(path, digest, workspace));
  const entries = known.map(({ entry }) => entry);
  const encoded = encodeDirectories(entries);
  const inputs: Inputs = {
    root: encoded.root,
    strayLinks: [],
    directories: () => encoded,
    entries: () => entries,
    statRows: () => new Map(known.map(({ entry, row }) => [entry.path, row])),
    existenceOnly: () => new Set(),
  };
  return {
    read: () => inputs,
    changeSince() {
      const changed = known.find((file) => !isStill(file, workspace, digests));
      return changed && `its input ${changed.entry.path} is not what Bazel says it is`;
    },
  };
}

interface KnownFile {
  readonly entry: Entry & { kind: 'file' };
  readonly row: StatRow;
}

/** Bazel sends no sizes and no modes, which a key has too: they come from the files. */
function knownFile(text: string, sent: string | null, workspace: string): KnownFile {
  const hash = Buffer.from(sent ?? '', 'hex').toString('latin1');
  if (!isHash(hash)) throw new AssayError('ASSAY_BAD_DIGEST', `Bazel sent no SHA-256 of ${text}`);
  const path = parseRelPath(text);
  const stats = statFile(workspace, path);
  const executable = (stats.mode & 0o100) !== 0;
  return {
    entry: { kind: 'file', path, digest: { hash, size: stats.size }, executable },
    row: rowOf(stats),
  };
}

function isStill({ entry, row }: KnownFile, workspace: string, digests: FileDigests): boolean {
  const stats = statFile(workspace, entry.path);
  if (!sameRow(row, rowOf(stats))) return false;
  const file = realpathSync(toSystemPath(workspace, entry.path).toString());
  return digests.digest(file, stats, () => file).hash === entry.digest.hash;
}

/** Bazel's own folders are full of links to the files that are meant. */
function statFile(workspace: string, path: RelPath): Stats {
  const stats = statSync(toSystemPath(workspace, path));
  if (!stats.isFile()) throw new AssayError('ASSAY_INPUT_UNREADABLE', `${path} is not a file`);
  return stats;
}
