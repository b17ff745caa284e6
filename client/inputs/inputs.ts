// The declared inputs of an action, as one digest: recalled if nothing changed since the last time, else by a scan.
import type { Digest } from '../../core/digest.ts';
import type { RelPath } from '../../core/path.ts';
import { type EncodedDirectories, type Entry, encodeDirectories } from '../../core/tree.ts';
import type { RunRequest } from '../request.ts';
import type { FileDigests } from './file-digest.ts';
import { Observations } from './observations.ts';
import { scanInputs } from './scan.ts';
import type { ScanMemos } from './scan-memo.ts';

export interface Inputs {
  readonly root: Digest;
  /** Links that lead out of the workspace: what they point to is not in the key. Told when they are first seen. */
  readonly strayLinks: readonly RelPath[];
  /** The folders and files themselves, which a hit does not need. Scans again if the digest was recalled. */
  directories(): EncodedDirectories;
  entries(): readonly Entry[];
}

export class InputReader {
  readonly #digests: FileDigests;
  readonly #memos: ScanMemos;
  readonly #now: () => number;

  constructor(digests: FileDigests, memos: ScanMemos, now: () => number) {
    this.#digests = digests;
    this.#memos = memos;
    this.#now = now;
  }

  read(request: RunRequest): Inputs {
    const root = this.#memos.recall(request);
    if (!root) return this.#scan(request);
    let scanned: Inputs | undefined;
    const scan = () => {
      scanned ??= this.#scan(request);
      return scanned;
    };
    return { root, strayLinks: [], directories: () => scan().directories(), entries: () => scan().entries() };
  }

  #scan(request: RunRequest): Inputs {
    const beganAt = this.#now();
    const observations = new Observations(request.workspace);
    const { entries, strayLinks } = scanInputs(request, observations, this.#digests);
    const encoded = encodeDirectories(entries);
    if (strayLinks.length === 0) this.#memos.remember(request, observations, encoded.root, beganAt);
    return { root: encoded.root, strayLinks, directories: () => encoded, entries: () => entries };
  }
}
