// What an action said about itself, in the terms that a verdict needs. The caller knows globs and git; this room does not.
import type { RelPath } from '../../core/path.ts';
import { type AbsPath, inside, isAtOrBelow, relativeIn } from '../system/absolute-path.ts';

export interface Declaration {
  /** Its real path, no symbolic link in it. */
  readonly workspace: AbsPath;
  /** Every declared file, link and folder that was there when the action started. */
  readonly inputs: ReadonlySet<RelPath>;
  /** Would a file that appeared at this path be an input? */
  covers(path: RelPath): boolean;
  /** Would some file that appeared directly in this folder be an input, because a pattern ends there in a wildcard? */
  growsIn(folder: RelPath): boolean;
  /** The names that are in this folder now. */
  namesIn(folder: RelPath): readonly string[];
  /** What is written in this file now; nothing if it can't be read. */
  textOf(path: RelPath): string;
  readonly outputs: readonly RelPath[];
  /** Those of them that an earlier run had left, and that were put aside for this one. */
  readonly earlier?: readonly RelPath[];
  /** Folders that are the action's alone and were empty when it started: its TMPDIR, its HOME. */
  readonly scratch: readonly AbsPath[];
  /** Declared tools, and the folders that came with them. */
  readonly tools: readonly AbsPath[];
  /** The folders of PATH: looking for a program there is no finding. */
  readonly searchPath: readonly AbsPath[];
}

/** The declaration with all that can be worked out once, by real path. */
export class Declared {
  readonly workspace: AbsPath;
  readonly #declaration: Declaration;
  readonly #outputs: readonly AbsPath[];
  /** Folders that must be there for an input, an output or a tool to be where it is. */
  readonly #implied = new Set<AbsPath>();

  constructor(declaration: Declaration) {
    this.#declaration = declaration;
    this.workspace = declaration.workspace;
    this.#outputs = declaration.outputs.map((path) => inside(declaration.workspace, path));
    const tools = declaration.tools.flatMap((tool) => relativeIn(declaration.workspace, tool) ?? []);
    this.#imply([...declaration.inputs, ...declaration.outputs, ...tools]);
  }

  isInput(path: RelPath): boolean {
    return this.#declaration.inputs.has(path) || this.#declaration.covers(path);
  }

  /** Only what was there: a pattern that would match does not make something an input that is not there. */
  isPresentInput(path: RelPath): boolean {
    return this.#declaration.inputs.has(path);
  }

  covers(path: RelPath): boolean {
    return this.#declaration.covers(path);
  }

  isInOutput(path: AbsPath): boolean {
    return this.#outputs.some((output) => isAtOrBelow(path, output));
  }

  /** It is, or lay in, an output that was there before the action started. */
  wasThereEarlier(path: AbsPath): boolean {
    const { workspace, earlier = [] } = this.#declaration;
    return earlier.some((output) => isAtOrBelow(path, inside(workspace, output)));
  }

  isImplied(path: AbsPath): boolean {
    return this.#implied.has(path);
  }

  isInScratch(path: AbsPath): boolean {
    return this.#declaration.scratch.some((folder) => isAtOrBelow(path, folder));
  }

  isTool(path: AbsPath): boolean {
    return this.#declaration.tools.some((tool) => isAtOrBelow(path, tool));
  }

  /** Declared tools, and the folders that came with them. */
  get tools(): readonly AbsPath[] {
    return this.#declaration.tools;
  }

  isSearched(folder: AbsPath): boolean {
    return this.#declaration.searchPath.includes(folder);
  }

  /** Folders above anything that the action may use. */
  isAboveDeclared(path: AbsPath): boolean {
    const { workspace, scratch, tools, searchPath } = this.#declaration;
    return [workspace, ...scratch, ...tools, ...searchPath].some((place) => isAtOrBelow(place, path));
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

  #imply(paths: readonly RelPath[]): void {
    this.#implied.add(this.workspace);
    for (const path of paths) {
      for (let slash = path.lastIndexOf('/'); slash > 0; slash = path.lastIndexOf('/', slash - 1)) {
        const folder = inside(this.workspace, path.slice(0, slash) as RelPath);
        if (this.#implied.has(folder)) break;
        this.#implied.add(folder);
      }
    }
  }
}
