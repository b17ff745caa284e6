// A staged workspace: a temporary folder with the declared inputs only. Inputs are copied, never linked, so
// an action cannot change the originals. All mtimes are equal, because mtimes are not in the key. Declared
// outputs move back to the real workspace.
import {
  chmodSync,
  constants,
  copyFileSync,
  cpSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { isSystemError } from '../../core/errors.ts';
import { parentOf, type RelPath, ROOT, toSystemPath } from '../../core/path.ts';
import { makeFolder } from '../../system/files/make-folder.ts';
import { removeTemporaryFolder, temporaryFolder } from '../../system/files/temporary-folder.ts';

/** 2000-01-01: older than any tool, and not zero, which some tools read as "unknown". */
const INPUT_TIME = new Date(Date.UTC(2000, 0, 1));

export class StagedWorkspace {
  readonly #workspace: string;
  readonly #outputs: readonly RelPath[];
  readonly #folder: string;
  /** The folder of the staged workspace. */
  readonly root: string;

  /** `inputs`: every declared file, link and empty folder of `workspace`. */
  constructor(workspace: string, inputs: Iterable<RelPath>, outputs: readonly RelPath[]) {
    this.#workspace = workspace;
    this.#outputs = outputs;
    this.#folder = temporaryFolder('stage');
    this.root = join(this.#folder, 'workspace');
    mkdirSync(this.root);
    for (const input of inputs) this.#copyInput(input);
  }

  /** Moves the declared outputs over the old ones. Other files of the action are dropped. */
  collect(): void {
    for (const output of this.#outputs) {
      const made = toSystemPath(this.root, output);
      const place = toSystemPath(this.#workspace, output);
      rmSync(place, { recursive: true, force: true });
      if (lstatSync(made, { throwIfNoEntry: false }) === undefined) continue;
      makeFolder(toSystemPath(this.#workspace, parentOf(output)));
      move(made, place);
    }
  }

  remove(): void {
    removeTemporaryFolder(this.#folder);
  }

  #copyInput(path: RelPath): void {
    const from = toSystemPath(this.#workspace, path);
    const to = toSystemPath(this.root, path);
    const status = lstatSync(from);
    this.#makeParent(path);
    if (status.isDirectory()) makeFolder(to);
    else if (status.isSymbolicLink()) symlinkSync(readlinkSync(from, 'buffer'), to);
    else {
      copyFileSync(from, to, constants.COPYFILE_FICLONE);
      chmodSync(to, status.mode & 0o111 ? 0o755 : 0o644);
    }
    lutimesSync(to, INPUT_TIME, INPUT_TIME);
  }

  #makeParent(path: RelPath): void {
    const parent = parentOf(path);
    if (parent !== ROOT) makeFolder(toSystemPath(this.root, parent));
  }
}

/** The staged workspace may be on another file system than the workspace. */
function move(from: string | Buffer, to: string | Buffer): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if (!isSystemError(error, 'EXDEV')) throw error;
    cpSync(String(from), String(to), { recursive: true, verbatimSymlinks: true });
  }
}
