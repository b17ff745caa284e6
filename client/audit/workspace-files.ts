// The files of the workspace, and which of them an input pattern could take: no outputs, nothing that
// .gitignore hides, and neither .git nor .assay. Folders are listed when they are asked for.

import { readlinkSync, type Stats } from 'node:fs';
import { childOf, isWithin, type RelPath, ROOT, toSystemPath } from '../../core/path.ts';
import { absPath, inside } from '../../system/paths/absolute-path.ts';
import type { RunRequest } from '../action/request.ts';
import { isPrivateFolder } from '../action/reserved.ts';
import { targetInWorkspace } from '../files/links.ts';
import { StatRecorder } from '../files/stat-recorder.ts';
import { TrackedFiles } from '../inputs/git-tracked.ts';
import { IgnoredPaths } from '../inputs/ignored-paths.ts';
import { AUDIT } from '../limits.ts';

export class WorkspaceFiles {
  readonly #outputs: readonly RelPath[];
  readonly #includeIgnored: boolean;
  readonly #stats: StatRecorder;
  readonly #ignored: IgnoredPaths;
  readonly #tracked: TrackedFiles;
  readonly #below = new Map<RelPath, readonly RelPath[]>();

  constructor({
    workspace,
    outputs,
    includeIgnored,
  }: Pick<RunRequest, 'workspace' | 'outputs' | 'includeIgnored'>) {
    this.#outputs = outputs;
    this.#includeIgnored = includeIgnored;
    this.#stats = new StatRecorder(workspace);
    this.#ignored = new IgnoredPaths(this.#stats);
    this.#tracked = new TrackedFiles(workspace);
  }

  /** All files and links below the folder; undefined if there are too many. */
  below(folder: RelPath): readonly RelPath[] | undefined {
    const found = this.#listBelow(folder);
    return found.length > AUDIT.patternFiles ? undefined : found;
  }

  /** Every file and link below the folder, ignored or not; undefined if there are too many. */
  all(folder: RelPath): readonly RelPath[] | undefined {
    const found: RelPath[] = [];
    for (const { name, isFolder } of this.#stats.list(folder)) {
      const path = childOf(folder, name);
      const below = isFolder ? this.all(path) : [path];
      if (below === undefined || found.length + below.length > AUDIT.patternFiles) return undefined;
      found.push(...below);
    }
    return found;
  }

  isIgnored(path: RelPath): boolean {
    return !this.#includeIgnored && path !== ROOT && this.#ignored.hides(path, this.isFolder(path));
  }

  /** Git tracks other files and not this one: an earlier run, or a person, left it here. */
  isMissingInClones(path: RelPath): boolean {
    const file = inside(absPath(this.#stats.workspace), path);
    return !this.#tracked.isEmpty && !this.#tracked.has(file);
  }

  isFolder(path: RelPath): boolean {
    return this.#stat(path)?.isDirectory() ?? false;
  }

  /** The names in a folder that no pattern takes, because .gitignore hides them. Outputs do not count. */
  ignoredIn(folder: RelPath): string[] {
    const hidden = this.#stats.list(folder).filter(({ name }) => {
      const path = childOf(folder, name);
      return !isPrivateFolder(name) && !this.#isInOutput(path) && this.isIgnored(path);
    });
    return hidden.map(({ name }) => name);
  }

  /**
   * Where a link leads: to this path of the workspace, or out of it. Undefined if the path is no link.
   */
  linkAt(path: RelPath): { readonly target: RelPath | undefined } | undefined {
    if (!this.#stat(path)?.isSymbolicLink()) return undefined;
    return { target: targetInWorkspace(path, readlinkSync(toSystemPath(this.#stats.workspace, path))) };
  }

  #stat(path: RelPath): Stats | undefined {
    return this.#stats.lstat(path);
  }

  #isInOutput(path: RelPath): boolean {
    return this.#outputs.some((output) => isWithin(path, output));
  }

  #listBelow(folder: RelPath): readonly RelPath[] {
    const known = this.#below.get(folder);
    if (known) return known;
    const found: RelPath[] = [];
    for (const { name, isFolder } of this.#stats.list(folder)) {
      const path = childOf(folder, name);
      if (found.length > AUDIT.patternFiles) break;
      if (isPrivateFolder(name) || this.#isInOutput(path) || this.isIgnored(path)) continue;
      if (isFolder) found.push(...this.#listBelow(path));
      else found.push(path);
    }
    this.#below.set(folder, found);
    return found;
  }
}
