// The declared inputs of an action as one digest: remembered if nothing changed, else from a scan.
import type { Digest } from '../../core/digest.ts';
import type { RelPath } from '../../core/path.ts';
import { type EncodedDirectories, type Entry, encodeDirectories } from '../../core/tree.ts';
import type { RunRequest } from '../action/request.ts';
import type { FileDigests } from '../files/file-digest.ts';
import { StatRecorder } from '../files/stat-recorder.ts';
import { rowOf, type StatRow, sameRow } from '../files/stat-table.ts';
import type { InputLinks } from './input-links.ts';
import { scanInputs } from './scan.ts';
import type { ScanMemos } from './scan-memo.ts';

export interface Inputs {
  readonly root: Digest;
  /** Links to something that is no input: their targets are not in the key. */
  readonly strayLinks: readonly RelPath[];
  /** The directories and files, which a hit does not need. Scans again if the digest was remembered. */
  directories(): EncodedDirectories;
  entries(): readonly Entry[];
  /** The stat of every path that the scan read. */
  statRows(): ReadonlyMap<string, StatRow>;
  /** Directories whose existence matters but whose contents do not. */
  existenceOnly(): ReadonlySet<string>;
  /** For inputs that are laid out as links: the links on the way to their files. */
  links?(): InputLinks;
}

/** The source of an action's inputs: the workspace, or a caller that already knows them. */
export interface InputSource {
  read(request: RunRequest): Inputs;
  /** Why the command may have seen other inputs, if so. */
  changeSince(inputs: Inputs, request: RunRequest): string | undefined;
}

export class InputReader implements InputSource {
  readonly #digests: FileDigests;
  readonly #memos: ScanMemos | undefined;
  readonly #now: () => number;
  /** The entries of each scan. A recalled digest has none: its entries are scanned when they are asked for. */
  readonly #scanned = new WeakMap<Inputs, readonly Entry[]>();

  /** `memos`: undefined for a caller that remembers more than scans. */
  constructor(digests: FileDigests, memos: ScanMemos | undefined, now: () => number) {
    this.#digests = digests;
    this.#memos = memos;
    this.#now = now;
  }

  read(request: RunRequest): Inputs {
    const recalled = this.#memos?.recall(request);
    if (!recalled) return this.#scan(request);
    let scanned: Inputs | undefined;
    const scan = () => {
      scanned ??= this.#scan(request);
      return scanned;
    };
    return {
      ...recalled,
      strayLinks: [],
      existenceOnly: () => new Set(),
      directories: () => scan().directories(),
      entries: () => scan().entries(),
    };
  }

  /**
   * A file or link that was touched counts as changed even if its content is equal: the command may have read
   * it in between. Folders may be touched by outputs; the digest covers their entries.
   */
  changeSince(inputs: Inputs, request: RunRequest): string | undefined {
    const now = this.#scan(request);
    const before = inputs.statRows();
    const paths = now.entries().flatMap(({ kind, path }) => (kind === 'directory' ? [] : [path]));
    const after = now.statRows();
    const same =
      this.#isSameTree(now, inputs) && paths.every((path) => sameRow(before.get(path), after.get(path)));
    return same ? undefined : 'its inputs changed while it ran';
  }

  /** The same entries in the same order have the same digest, which is not computed then. */
  #isSameTree(now: Inputs, earlier: Inputs): boolean {
    const scanned = this.#scanned.get(earlier);
    if (scanned && sameEntries(scanned, now.entries())) return true;
    return now.root.hash === earlier.root.hash;
  }

  #scan(request: RunRequest): Inputs {
    const beganAt = this.#now();
    const observations = new StatRecorder(request.workspace);
    const { entries, strayLinks } = scanInputs(request, observations, this.#digests);
    let encoded: EncodedDirectories | undefined;
    const directories = () => {
      encoded ??= encodeDirectories(entries);
      return encoded;
    };
    if (strayLinks.length === 0 && this.#memos)
      this.#memos.remember(request, observations, directories().root, beganAt);
    const scan: Inputs = {
      get root() {
        return directories().root;
      },
      strayLinks,
      directories,
      entries: () => entries,
      statRows: () => statRowsOf(observations),
      existenceOnly: () => observations.traversed(),
    };
    this.#scanned.set(scan, entries);
    return scan;
  }
}

function sameEntries(before: readonly Entry[], after: readonly Entry[]): boolean {
  return before.length === after.length && before.every((entry, at) => isSameEntry(entry, after[at]));
}

function isSameEntry(a: Entry, b: Entry | undefined): boolean {
  if (a.path !== b?.path) return false;
  if (a.kind === 'file' && b.kind === 'file')
    return (
      a.digest.hash === b.digest.hash && a.digest.size === b.digest.size && a.executable === b.executable
    );
  if (a.kind === 'symlink' && b.kind === 'symlink') return a.target === b.target;
  return a.kind === 'directory' && b.kind === 'directory';
}

function statRowsOf({ recorded }: StatRecorder): Map<string, StatRow> {
  return new Map([...recorded].map(([name, stats]) => [name, rowOf(stats)]));
}
