// Judges what an action read: file contents, probes of present and absent paths, listings, programs, links.
// It decides which findings people see. What a hit compares is decided elsewhere (facts.ts).

import type { RelPath } from '../../core/path.ts';
import {
  type AbsPath,
  inside,
  isAtOrBelow,
  parentFolder,
  readable,
  relativeIn,
} from '../../system/paths/absolute-path.ts';
import { ASSAY_FOLDER } from '../../system/paths/assay-folder.ts';
import type { PathAccess } from '../trace/access.ts';
import { AmbientProbes } from './ambient-probes.ts';
import { type Fix, patternOf } from './finding.ts';
import { kernelUse, OTHER_PROCESSES } from './kernel-files.ts';
import { isExplained } from './omissions.ts';
import { isHarmlessCache, isLockOfCargo } from './tool-caches.ts';
import type { Location, VerdictState } from './verdict-state.ts';

/** Names in a listed folder that are no build inputs. */
const UNSEEN_NAMES = new Set(['.git', ASSAY_FOLDER]);

export class ReadJudge {
  readonly #state: VerdictState;
  readonly #ambient: AmbientProbes;
  #made: ReadonlySet<AbsPath> | undefined;

  constructor(state: VerdictState) {
    this.#state = state;
    this.#ambient = new AmbientProbes(state);
  }

  judge(access: PathAccess, place: Location): void {
    const { withheld, path } = access;
    if (withheld) {
      const detail = `without the rights that its file gives it (${withheld})`;
      this.#state.suspect({ kind: 'setuid', access, path, detail });
    }
    if (isExplained(access, this.#state) || this.#isToolCache(access)) return;
    if (isLockOfCargo(path) && this.#state.listers.programOf(access.process) === 'cargo') return;
    switch (place) {
      case 'workspace':
        this.#inWorkspace(access, relativeIn(this.#state.declared.workspace, path));
        break;
      case 'kernel':
        this.#atKernel(access);
        break;
      case 'elsewhere':
        this.#elsewhere(access);
        break;
      case 'toolchain':
      case 'temporary':
      case 'scratch':
        break;
    }
  }

  /** Caches of tools count only if something was there, and could influence the result. */
  #isToolCache({ kind, path }: PathAccess): boolean {
    const { declared } = this.#state;
    if (!declared.isInToolCache(path)) return false;
    const relative = relativeIn(declared.workspace, path);
    return kind === 'absent' || (relative !== undefined && isHarmlessCache(relative));
  }

  // ---- in the workspace ----

  #inWorkspace(access: PathAccess, path: RelPath | undefined): void {
    if (path === undefined || (isInAssayFolder(path) && !isContent(access))) return;
    const { declared } = this.#state;
    if (declared.isInOutput(access.path)) this.#inOutput(access, path);
    else if (access.kind === 'list') this.#listed(access, path);
    else if (!isContent(access) && declared.isOnlyAboveOutputs(access.path)) return;
    else if (access.kind === 'absent') {
      const isSought = declared.isSearched(parentFolder(access.path));
      if (isSought || declared.isImplied(access.path) || declared.covers(path)) return;
      this.#suspectProbe('absent', access, declaring('--optional-input', path));
    } else if (declared.isInput(path)) return;
    else if (isContent(access)) this.#suspectRead(access, declaring('--input', path));
    else if (!declared.isImplied(access.path))
      this.#suspectProbe('probe', access, declaring('--input', path));
  }

  /**
   * Outputs are cleared before an action runs on another machine, so an earlier run's outputs must not
   * matter. Two accesses are harmless: a probe before overwriting (cp, ld, `mkdir -p`) and a listing before
   * removal.
   */
  #inOutput(access: PathAccess, path: RelPath): void {
    const { own, declared } = this.#state;
    const at = access.path;
    if (access.kind === 'absent') this.#suspectStale(access);
    if (access.kind === 'absent' || access.kind === 'followed' || declared.isInput(path)) return;
    const unless = (): boolean => {
      if (access.kind === 'list') return own.wasDeleted(at);
      return !isContent(access) && (own.wasWritten(at) || own.wasDeleted(at) || own.holds(at));
    };
    this.#state.suspect({
      kind: 'stale-output',
      access,
      path: at,
      detail: 'an output of an earlier run',
      unless,
    });
  }

  /**
   * The earlier output was set aside, and a program that did not come to write it probed for it. make probes
   * to see what to build, cp to write it. A program that opened it for reading wanted to use it in any case.
   */
  #suspectStale(access: PathAccess): void {
    const { declared, own, policy, report } = this.#state;
    const program = this.#state.programOf(access);
    if (!declared.wasThereEarlier(access.path)) return;
    if (policy.removers.has(program)) own.deleted(access.path);
    if (policy.outputCheckers.has(program)) return;
    const wroteIt = () =>
      !access.wanted &&
      report.accesses.some((one) => {
        if (one.kind !== 'write' || !isAtOrBelow(one.path, access.path)) return false;
        return one.folder === true || (one.process === access.process && !policy.shells.has(program));
      });
    const detail = 'probed for an output of an earlier run';
    this.#state.suspect({ kind: 'stale-output', access, path: access.path, detail, unless: wroteIt });
  }

  /** A listing is declared if every name in it is declared, and a new name would be too. */
  #listed(access: PathAccess, folder: RelPath): void {
    const { declared, policy } = this.#state;
    const program = this.#state.programOf(access);
    const unexplained = declared.namesIn(folder).filter((name) => !this.#explains(folder, name));
    const isLoader = policy.moduleLoaders.test(program);
    const isFirst = isLoader && this.#ambient.isFirstListing(access);
    const isImport = isLoader && this.#ambient.isImport(access);
    const looksUp = isImport || (isFirst && this.#isModuleFolder(access.path));
    const isRoutine =
      (policy.folderListers.has(this.#state.toolOf(access)) &&
        (declared.growsIn(folder) || !this.#ambient.collects(access))) ||
      (isFirst && isImport) ||
      (unexplained.length === 0 && (looksUp || declared.growsIn(folder)));
    if (isRoutine) return;
    const detail =
      unexplained.length > 0 ? `shows ${someOf(unexplained)}` : 'no pattern covers new files there';
    const value = folder === '' ? '*' : `${patternOf(folder)}/*`;
    const fix = { flag: this.#flagFor(folder, unexplained), value };
    this.#state.suspect({ kind: 'list', access, path: access.path, detail, fix });
  }

  /** A pattern for files that matches only folders is an error, unless it may match nothing. */
  #flagFor(folder: RelPath, unexplained: readonly string[]): '--input' | '--optional-input' {
    const { declared } = this.#state;
    const hasFiles =
      unexplained.length > 0 ||
      declared.namesIn(folder).some((name) => declared.isPresentInput(childOf(folder, name)));
    return hasFiles ? '--input' : '--optional-input';
  }

  #explains(folder: RelPath, name: string): boolean {
    const { declared } = this.#state;
    const path = childOf(folder, name);
    const real = inside(declared.workspace, path);
    return (
      UNSEEN_NAMES.has(name) ||
      declared.isInput(path) ||
      declared.isImplied(real) ||
      declared.isInOutput(real) ||
      declared.isInScratch(real) ||
      declared.isInToolCache(real) ||
      this.#isMade(real)
    );
  }

  /** Whether the action created it at any time: listed names are read after the action has ended. */
  #isMade(path: AbsPath): boolean {
    this.#made ??= new Set(
      this.#state.report.accesses.flatMap((access) => {
        if (access.kind === 'write' || access.kind === 'symlink') return [access.path];
        return access.kind === 'rename' || access.kind === 'hardlink' ? [access.to] : [];
      }),
    );
    return this.#made.has(path);
  }

  /** A source was read there, so Python searches this folder for modules. */
  #isModuleFolder(folder: AbsPath): boolean {
    return this.#state.report.accesses.some(
      (access) =>
        access.kind === 'read' && access.path.endsWith('.py') && parentFolder(access.path) === folder,
    );
  }

  // ---- outside of it ----

  #atKernel(access: PathAccess): void {
    const { kind, path } = access;
    const name = this.#state.kernelName(access);
    const isOthers = name === undefined || (kind === 'list' && path === '/proc');
    if (isOthers) this.#state.suspect({ kind: 'host', access, path, detail: OTHER_PROCESSES });
    else if (
      kind !== 'followed' &&
      !this.#state.startUps.isOfStart(access, this.#state.programOf(access), name)
    )
      this.#atKernelFile(access, name);
  }

  #atKernelFile(access: PathAccess, name: string): void {
    const { kind, path } = access;
    const use = kernelUse(name, kind === 'read');
    const isList = kind === 'list';
    const isUsed = kind === 'read' || isList;
    if (use === 'fact') {
      if (isUsed) this.#state.suspect({ kind, access, path });
    } else if (use !== 'free' && isUsed) this.#state.suspect({ kind: use, access, path });
  }

  #elsewhere(access: PathAccess): void {
    const { kind, path } = access;
    if (this.#state.policy.ambientPaths.has(path)) return;
    if (isContent(access)) {
      this.#suspectRead(access, kind === 'exec' ? { flag: '--tool', value: readable(path) } : undefined);
    } else if (kind === 'list') {
      const looksUp = this.#state.policy.folderListers.has(this.#state.toolOf(access));
      if (!looksUp) this.#state.suspect({ kind, access, path });
    } else if (!this.#isOnPathToDeclared(path)) {
      const isRoutine = kind === 'absent' && this.#ambient.isRoutineAbove(path);
      if (!isRoutine) this.#suspectProbe(kind === 'absent' ? 'absent' : 'probe', access);
    }
  }

  /** Parents of declared paths, and searches along PATH. */
  #isOnPathToDeclared(path: AbsPath): boolean {
    const { declared } = this.#state;
    return declared.isAboveDeclared(path) || declared.isSearched(parentFolder(path));
  }

  // ---- in common ----

  #suspectRead(access: PathAccess, fix: Fix | undefined): void {
    this.#state.suspect({
      kind: 'read',
      access,
      path: access.path,
      ...(access.kind === 'exec' && { detail: 'executed' }),
      ...(access.kind === 'followed' && { detail: 'a symbolic link in the path' }),
      ...(fix && { fix }),
    });
  }

  /** A probe before a write is not worth a finding: the write gets one. */
  #suspectProbe(kind: 'probe' | 'absent', access: PathAccess, fix?: Fix): void {
    const { own } = this.#state;
    if (kind === 'absent' && this.#ambient.isRoutine(access)) return;
    this.#state.suspect({
      kind,
      access,
      path: access.path,
      ...(fix && { fix }),
      unless: () => own.wasWritten(access.path) || own.wasDeleted(access.path),
    });
  }
}

function childOf(folder: RelPath, name: string): RelPath {
  return (folder === '' ? name : `${folder}/${name}`) as RelPath;
}

function isInAssayFolder(path: RelPath): boolean {
  return path === ASSAY_FOLDER || path.startsWith(`${ASSAY_FOLDER}/`);
}

/** A path that is never an input has no fix. */
function declaring(flag: Fix['flag'], path: RelPath): Fix | undefined {
  const isNeverInput = path.split('/').some((name) => UNSEEN_NAMES.has(name));
  return isNeverInput ? undefined : { flag, value: patternOf(path) };
}

/** Whether the access used the content, not only the existence. */
function isContent({ kind }: PathAccess): boolean {
  return kind === 'read' || kind === 'exec' || kind === 'followed';
}

function someOf(names: readonly string[]): string {
  const SHOWN = 3;
  const list = names.slice(0, SHOWN).map(readable).join(', ');
  return names.length > SHOWN ? `${list} and ${names.length - SHOWN} more` : list;
}
