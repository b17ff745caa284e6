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
      now.root.hash === inputs.root.hash && paths.every((path) => sameRow(before.get(path), after.get(path)));
    return same ? undefined : 'its inputs changed while it ran';
  }

  #scan(request: RunRequest): Inputs {
    const beganAt = this.#now();
    const observations = new StatRecorder(request.workspace);
    const { entries, strayLinks } = scanInputs(request, observations, this.#digests);
    const encoded = encodeDirectories(entries);
    if (strayLinks.length === 0) this.#memos?.remember(request, observations, encoded.root, beganAt);
    return {
      root: encoded.root,
      strayLinks,
      directories: () => encoded,
      entries: () => entries,
      statRows: () => statRowsOf(observations),
      existenceOnly: () => observations.traversed(),
    };
  }
}

function statRowsOf({ recorded }: StatRecorder): Map<string, StatRow> {
  return new Map([...recorded].map(([name, stats]) => [name, rowOf(stats)]));
}
