// The declared inputs of an action, as one digest: recalled if nothing changed since the last time, else by a scan.
import type { Digest } from '../../core/digest.ts';
import type { RelPath } from '../../core/path.ts';
import { type EncodedDirectories, type Entry, encodeDirectories } from '../../core/tree.ts';
import type { RunRequest } from '../action/request.ts';
import type { FileDigests } from '../files/file-digest.ts';
import { StatRecorder } from '../files/stat-recorder.ts';
import { rowOf, type StatRow, sameRow } from '../files/stat-table.ts';
import { scanInputs } from './scan.ts';
import type { ScanMemos } from './scan-memo.ts';

export interface Inputs {
  readonly root: Digest;
  /** Links to something that is not among the inputs: what they point to is not in the key. */
  readonly strayLinks: readonly RelPath[];
  /** The folders and files themselves, which a hit does not need. Scans again if the digest was recalled. */
  directories(): EncodedDirectories;
  entries(): readonly Entry[];
  /** What everything that was looked at looked like. */
  statRows(): ReadonlyMap<string, StatRow>;
  /** Of those, the folders of which only that they are folders counts. */
  existenceOnly(): ReadonlySet<string>;
}

/** Where an action's inputs come from: the workspace, or whoever asks for the action and knows them already. */
export interface InputSource {
  read(request: RunRequest): Inputs;
  /** Why these may not be what the command has seen, if so. */
  changeSince(inputs: Inputs, request: RunRequest): string | undefined;
}

export class InputReader implements InputSource {
  readonly #digests: FileDigests;
  readonly #memos: ScanMemos | undefined;
  readonly #now: () => number;

  /** `memos`: none for who remembers more than scans. */
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
   * A file or link that was touched since counts, even if its content is the same again: a command may have read it in
   * between. Folders may be touched by what is made in them; their lists are in the digest.
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
