// The declaration of an action, in the form that the verdict needs. The caller expands globs and .gitignore; this
// room knows neither.
import type { RelPath } from '../../core/path.ts';
import { type AbsPath, inside, isAtOrBelow, isBelow, relativeIn } from '../../system/paths/absolute-path.ts';
import { isInToolCache } from './tool-caches.ts';

export interface DeclaredAccess {
  /** The real path, without symbolic links. */
  readonly workspace: AbsPath;
  /** Every declared file, link and folder that existed when the action started. */
  readonly inputs: ReadonlySet<RelPath>;
  /** Whether a new file at this path would be an input. */
  covers(path: RelPath): boolean;
  /**
   * Whether some new file directly in this folder would be an input, because a pattern ends in a wildcard.
   */
  growsIn(folder: RelPath): boolean;
  /** The names in this folder now. */
  namesIn(folder: RelPath): readonly string[];
  /** The text of this file now; empty if it cannot be read. */
  textOf(path: RelPath): string;
  /** A path as the command's words give it, from its working directory, without links. Undefined if it is absent. */
  realPathOf(text: string): AbsPath | undefined;
  /** The name of the npm package that a file belongs to. */
  packageOf(file: AbsPath): string | undefined;
  readonly outputs: readonly RelPath[];
  /** The outputs of an earlier run that were set aside before this one. */
  readonly earlier?: readonly RelPath[];
  /** The action's scratch folders, empty when it started: its TMPDIR and HOME. */
  readonly scratch: readonly AbsPath[];
  /**
   * The TMPDIR that the action declares. It need not be empty: what the action reads there and did not write
   * is part of the read set, but no finding.
   */
  readonly temporary?: AbsPath;
  /** Declared tools and their installation folders, and installed software below the user's home. */
  readonly tools: readonly AbsPath[];
  /** Folders outside the workspace that links of its layout lead to: the source trees. */
  readonly trees?: readonly AbsPath[];
  /** The folders of PATH: a search for a program there is no finding. */
  readonly searchPath: readonly AbsPath[];
  /** The values of the declared variables. */
  readonly variables?: readonly string[];
}

/** The declaration with lookups precomputed by real path. */
export class Declared {
  readonly workspace: AbsPath;
  readonly #declaration: DeclaredAccess;
  readonly #outputs: readonly AbsPath[];
  /** Folders that must exist for an input to exist. */
  readonly #aboveInputs: ReadonlySet<AbsPath>;
  /** The same for an input or a tool. */
  readonly #required: ReadonlySet<AbsPath>;
  /** The same for an output: the action makes them, or needs them. */
  readonly #aboveOutputs: ReadonlySet<AbsPath>;

  constructor(declaration: DeclaredAccess) {
    this.#declaration = declaration;
    this.workspace = declaration.workspace;
    this.#outputs = declaration.outputs.map((path) => inside(declaration.workspace, path));
    const tools = declaration.tools.flatMap((tool) => relativeIn(declaration.workspace, tool) ?? []);
    this.#aboveInputs = new Set([this.workspace, ...this.#foldersAbove(declaration.inputs)]);
    this.#required = new Set([...this.#aboveInputs, ...this.#foldersAbove(tools)]);
    this.#aboveOutputs = this.#foldersAbove(declaration.outputs);
  }

  isInput(path: RelPath): boolean {
    return this.#declaration.inputs.has(path) || this.#declaration.covers(path);
  }

  /** Only what existed: a matching pattern alone does not make a missing file an input. */
  isPresentInput(path: RelPath): boolean {
    return this.#declaration.inputs.has(path);
  }

  covers(path: RelPath): boolean {
    return this.#declaration.covers(path);
  }

  isInOutput(path: AbsPath): boolean {
    return this.#outputs.some((output) => isAtOrBelow(path, output));
  }

  /** Whether the path is, or was inside, an output that existed before the action started. */
  wasThereEarlier(path: AbsPath): boolean {
    const { workspace, earlier = [] } = this.#declaration;
    return earlier.some((output) => isAtOrBelow(path, inside(workspace, output)));
  }

  isImplied(path: AbsPath): boolean {
    return this.#required.has(path) || this.#aboveOutputs.has(path);
  }

  /** Whether the path is a folder that only outputs lie in. It may be missing before the action runs. */
  isOnlyAboveOutputs(path: AbsPath): boolean {
    return this.#aboveOutputs.has(path) && !this.#required.has(path);
  }

  /** Whether a declared input lies in this folder. */
  isAboveInput(path: AbsPath): boolean {
    return this.#aboveInputs.has(path);
  }

  isInScratch(path: AbsPath): boolean {
    return this.#declaration.scratch.some((folder) => isAtOrBelow(path, folder));
  }

  /** In the declared TMPDIR, and neither an input nor an output. A TMPDIR around the workspace ends at it. */
  isInTemporary(path: AbsPath): boolean {
    const { temporary } = this.#declaration;
    if (temporary === undefined || !isAtOrBelow(path, temporary)) return false;
    const relative = relativeIn(this.workspace, path);
    if (relative === undefined) return true;
    return isBelow(temporary, this.workspace) && !this.isInput(relative) && !this.isInOutput(path);
  }

  isTool(path: AbsPath): boolean {
    return this.#declaration.tools.some((tool) => isAtOrBelow(path, tool));
  }

  /**
   * Whether the path lies in a cache that a tool keeps in the tree (tool-caches.ts), and is neither declared
   * nor in an output.
   */
  isInToolCache(path: AbsPath): boolean {
    const relative = relativeIn(this.workspace, path);
    if (relative === undefined || this.isInOutput(path) || this.isInput(relative)) return false;
    return isInToolCache(relative, (beside) => this.isInput(beside) || this.#exists(beside));
  }

  #exists(path: RelPath): boolean {
    const slash = path.lastIndexOf('/');
    return this.namesIn(path.slice(0, Math.max(0, slash)) as RelPath).includes(path.slice(slash + 1));
  }

  /** The folders from which a search up to the root may start. */
  get searchBases(): readonly AbsPath[] {
    const { workspace, tools, trees = [] } = this.#declaration;
    return [workspace, ...tools, ...trees];
  }

  isSearched(folder: AbsPath): boolean {
    return this.#declaration.searchPath.includes(folder);
  }

  /**
   * Whether the path is a parent of the workspace, a source tree, a scratch folder, a tool or a folder of
   * PATH.
   */
  isAboveDeclared(path: AbsPath): boolean {
    const { searchPath } = this.#declaration;
    return this.isAroundAction(path) || searchPath.some((place) => isAtOrBelow(place, path));
  }

  /** Whether the path is the workspace, a source tree, a tool, a scratch folder or TMPDIR, or lies above one. */
  isAroundAction(path: AbsPath): boolean {
    const { scratch, temporary } = this.#declaration;
    const places = [...this.searchBases, ...scratch, ...(temporary === undefined ? [] : [temporary])];
    return places.some((place) => isAtOrBelow(place, path));
  }

  growsIn(folder: RelPath): boolean {
    return this.#declaration.growsIn(folder);
  }

  namesIn(folder: RelPath): readonly string[] {
    return this.#declaration.namesIn(folder);
  }

  textOf(path: RelPath): string {
    return this.#declaration.textOf(path);
  }

  /** The text of a file of the workspace; empty elsewhere. */
  textAt(path: AbsPath): string {
    const relative = relativeIn(this.workspace, path);
    return relative === undefined ? '' : this.textOf(relative);
  }

  realPathOf(text: string): AbsPath | undefined {
    return this.#declaration.realPathOf(text);
  }

  packageOf(file: AbsPath): string | undefined {
    return this.#declaration.packageOf(file);
  }

  #foldersAbove(paths: Iterable<RelPath>): Set<AbsPath> {
    const folders = new Set<AbsPath>();
    for (const path of paths) {
      for (let slash = path.lastIndexOf('/'); slash > 0; slash = path.lastIndexOf('/', slash - 1)) {
        const folder = inside(this.workspace, path.slice(0, slash) as RelPath);
        if (folders.has(folder)) break;
        folders.add(folder);
      }
    }
    return folders;
  }
}
