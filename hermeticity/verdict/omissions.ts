// Omissions: the one table of accesses that are no facts. Everything else that a watched command read, probed,
// missed, listed or followed is a fact, and every later hit compares it.
//
// An entry needs one of three reasons. `implied`: other facts, the key, or the way in which every action is started
// already say it. `lens`: the program can't act on it. `start-up`: a runtime reads it for itself at its start; such an
// entry proves nothing, so docs/MACHINES.md lists each with what finds a dependence on it.
// Findings (judge-reads.ts) play no part here.

import { isAtOrBelow, relativeIn } from '../../system/paths/absolute-path.ts';
import { ASSAY_FOLDER } from '../../system/paths/assay-folder.ts';
import type { Program } from '../lenses/listers.ts';
import type { PathAccess } from '../trace/access.ts';
import { isHarmlessCache, isLockOfCargo } from './tool-caches.ts';
import type { Location, VerdictState } from './verdict-state.ts';

interface Omission {
  readonly name: string;
  readonly reason: 'implied' | 'lens' | 'start-up';
  readonly why: string;
  /** Only paths in the workspace are asked about. */
  readonly inWorkspace?: true;
  readonly applies: (access: PathAccess, place: Location, state: VerdictState) => boolean;
}

const MAKE_FOLDERS: readonly (Program | undefined)[] = ['esbuild-1', 'tsc-1'];

export const OMISSIONS: readonly Omission[] = [
  {
    name: 'own files',
    reason: 'implied',
    why: 'The action created or removed the path itself, so every run of it finds the same.',
    applies: (access, _, state) => isExplained(access, state),
  },
  {
    name: 'outputs',
    reason: 'implied',
    why: 'Earlier outputs are set aside before the command starts, so every run finds none.',
    inWorkspace: true,
    applies: ({ path }, _, { declared }) => declared.isInOutput(path),
  },
  {
    name: 'scratch folders',
    reason: 'implied',
    why: 'HOME and TMPDIR of an action are new and empty in every run.',
    applies: ({ path }, _, { declared }) => declared.isInScratch(path),
  },
  {
    name: 'declared inputs',
    reason: 'implied',
    why: 'The key has the content, the kind and the executable bit of each. A listing shows more than the inputs.',
    inWorkspace: true,
    applies: ({ kind, path }, _, { declared }) => {
      if (kind === 'list' || kind === 'absent') return false;
      const relative = relativeIn(declared.workspace, path);
      return relative !== undefined && declared.isPresentInput(relative);
    },
  },
  {
    name: 'folders of inputs',
    reason: 'implied',
    why: 'The key has what lies in the folder, and a link in its place as a link.',
    inWorkspace: true,
    applies: ({ kind, path }, place, { declared }) =>
      place === 'workspace' && isExistence(kind) && declared.isAboveInput(path),
  },
  {
    name: 'folders around the action',
    reason: 'implied',
    why: 'The workspace, the tools and the scratch folders are there, so are the folders above them.',
    applies: ({ kind, path }, _, { declared }) => isExistence(kind) && declared.isAroundAction(path),
  },
  {
    name: 'Assay’s folder',
    reason: 'implied',
    why: 'Assay makes and removes it while anything runs. A file in it that was read counts; Assay’s own .gitignore counts as absent.',
    inWorkspace: true,
    applies: ({ kind, path }, _, { declared }) => {
      const relative = relativeIn(declared.workspace, path) ?? '';
      const isInside = relative === ASSAY_FOLDER || relative.startsWith(`${ASSAY_FOLDER}/`);
      return isInside && (isExistence(kind) || kind === 'absent' || kind === 'list');
    },
  },
  {
    name: 'mkdir of the folders of outputs',
    reason: 'lens',
    why: 'mkdir -p makes the folder, or finds it: both are what the command wants.',
    inWorkspace: true,
    applies: ({ kind, path, process }, _, { declared, listers }) =>
      (isExistence(kind) || kind === 'absent') &&
      declared.isOnlyAboveOutputs(path) &&
      listers.programOf(process) === 'mkdir',
  },
  {
    name: 'folders of outputs for compilers',
    reason: 'lens',
    why: 'esbuild and tsc make the folder that they do not find. What they look for in it counts.',
    inWorkspace: true,
    applies: ({ kind, path, process }, _, { declared, listers }) =>
      isExistence(kind) &&
      declared.isOnlyAboveOutputs(path) &&
      MAKE_FOLDERS.includes(listers.programOf(process)),
  },
  {
    name: 'order of tests',
    reason: 'lens',
    why: 'vitest decides by it only which test file runs first.',
    inWorkspace: true,
    applies: ({ path, process }, _, { declared, listers }) => {
      const relative = relativeIn(declared.workspace, path);
      if (relative === undefined || !isHarmlessCache(relative)) return false;
      return declared.isInToolCache(path) && listers.programOf(process) === 'vitest';
    },
  },
  {
    name: 'lock of cargo',
    reason: 'lens',
    why: 'cargo locks the file while it uses downloaded packages, and never reads its content.',
    applies: ({ path, process }, _, { listers }) =>
      isLockOfCargo(path) && listers.programOf(process) === 'cargo',
  },
  {
    name: 'records of Java',
    reason: 'start-up',
    why: 'Every Java process writes its counters there, and removes those of dead ones. Whoever else looks counts.',
    applies: (access, _, { policy, listers }) =>
      policy.runtimeRecords.some((records) => records.test(access.path)) && listers.isStartOfJava(access),
  },
];

const ANYWHERE = OMISSIONS.filter(({ inWorkspace }) => !inWorkspace);

/** Most accesses are to the toolchain, where few entries apply. */
export function isOmitted(access: PathAccess, place: Location, state: VerdictState): boolean {
  const isInside = isAtOrBelow(access.path, state.declared.workspace);
  return (isInside ? OMISSIONS : ANYWHERE).some(({ applies }) => applies(access, place, state));
}

/**
 * Whether the action created or removed the path itself. A recreated folder does not explain what the
 * earlier one contained.
 */
export function isExplained({ kind, path, wanted }: PathAccess, { own, declared }: VerdictState): boolean {
  const isStale = kind === 'absent' && wanted && declared.wasThereEarlier(path) && !own.wasDeleted(path);
  return !isStale && (own.isOwn(path) || (kind === 'absent' && own.isRemoved(path)));
}

/** Whether the access tells only that something is there. */
function isExistence(kind: PathAccess['kind']): boolean {
  return kind === 'probe' || kind === 'entered';
}
