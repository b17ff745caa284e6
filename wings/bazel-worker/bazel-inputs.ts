// The inputs of a Bazel request: paths with the digests that Bazel sent. The key uses these digests. A result
// is published only if the files still have them and were not touched since the request.
import { realpathSync, type Stats, statSync } from 'node:fs';
import type { FileDigests } from '../../client/files/file-digest.ts';
import { rowOf, type StatRow, sameRow } from '../../client/files/stat-table.ts';
import { findInputLinks, type InputLinks } from '../../client/inputs/input-links.ts';
import type { InputSource, Inputs } from '../../client/inputs/inputs.ts';
import { isHash } from '../../core/digest.ts';
import { AssayError } from '../../core/errors.ts';
import { parseRelPath, type RelPath, toSystemPath } from '../../core/path.ts';
import { type Entry, encodeDirectories } from '../../core/tree.ts';

/** @bazel/worker's form of a request's inputs: the digest's hex text, encoded as hex again. */
export type SentInputs = Readonly<Record<string, string | null>>;

/** A request without inputs. It is never looked up or published, because its reads are unknown. */
export const NO_INPUTS: SentInputs = {};

/** Throws if Bazel sent no digest, or one that is no SHA-256: such a request has no key. */
export function bazelInputs(sent: SentInputs, workspace: string, digests: FileDigests): InputSource {
  const known = Object.entries(sent).map(([path, digest]) => knownFile(path, digest, workspace));
  const entries = known.map(({ entry }) => entry);
  const encoded = encodeDirectories(entries);
  let links: InputLinks | undefined;
  const inputs: Inputs = {
    root: encoded.root,
    strayLinks: [],
    directories: () => encoded,
    entries: () => entries,
    statRows: () => new Map(known.map(({ entry, row }) => [entry.path, row])),
    existenceOnly: () => new Set(),
    links() {
      links ??= findInputLinks(
        entries.map(({ path }) => path),
        workspace,
      );
      return links;
    },
  };
  return {
    read: () => inputs,
    changeSince() {
      const changed = known.find((file) => !isStill(file, workspace, digests));
      return changed && `its input ${changed.entry.path} does not have the digest that Bazel sent`;
    },
  };
}

interface KnownFile {
  readonly entry: Entry & { kind: 'file' };
  readonly row: StatRow;
}

/** Bazel sends neither sizes nor modes, which the key contains: they come from the files. */
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

/** Follows links: Bazel's folders contain links to the real files. */
function statFile(workspace: string, path: RelPath): Stats {
  const stats = statSync(toSystemPath(workspace, path));
  if (!stats.isFile()) throw new AssayError('ASSAY_INPUT_UNREADABLE', `${path} is not a file`);
  return stats;
}
