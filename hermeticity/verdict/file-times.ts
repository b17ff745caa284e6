// Finds the files of the workspace that a tool may compare by mtime. An mtime is in no key and no path set, so the
// cache must know that a result may depend on one.
//
// Decided by program name: make, ninja and `tsc -b` compare the files that they stat. A compiled Python
// module holds its source's mtime, whichever program loads it. Not detected: scripts that compare times
// themselves (`test a -nt b`, `find -newer`).
import { type AbsPath, relativeIn } from '../../system/paths/absolute-path.ts';
import type { PathAccess, TracedProcess } from '../trace/access.ts';
import type { Location, VerdictState } from './verdict-state.ts';

export interface TimedRead {
  readonly path: AbsPath;
  /** The tool that compares the time. */
  readonly tool: string;
  readonly isInput: boolean;
}

/** Collects them from the accesses of a run. */
export class TimedReads {
  readonly #state: VerdictState;
  readonly #found = new Map<AbsPath, TimedRead>();

  constructor(state: VerdictState) {
    this.#state = state;
  }

  /** Neither the action's own files nor outputs. */
  note(access: PathAccess, place: Location): void {
    const { declared, report, own } = this.#state;
    const { path, process } = access;
    const relative = relativeIn(declared.workspace, path);
    if (place !== 'workspace' || relative === undefined || this.#found.has(path)) return;
    if (own.isOwn(path) || declared.isInOutput(path)) return;
    const tool = toolComparingTimes(access, report.processes[process]);
    if (tool !== undefined) this.#found.set(path, { path, tool, isInput: declared.isInput(relative) });
  }

  get all(): readonly TimedRead[] {
    return [...this.#found.values()];
  }
}

const BUILD_TOOL = /^(?:[bgp]?make|remake|ninja(?:-build)?|samu|cargo|rake|ant)$/;
const TYPESCRIPT = /^(?:tsc|vue-tsc)(?:\.js)?$/;
const BUILD_MODE = /^--?b(?:uild)?$/i;
const COMPILED_MODULE = /\.py[co]$/;

/** The tool, if this access may be a comparison by mtime. */
function toolComparingTimes(
  { kind, path }: PathAccess,
  process: TracedProcess | undefined,
): string | undefined {
  if (kind === 'read' && COMPILED_MODULE.test(path)) return 'Python';
  if (kind !== 'read' && kind !== 'probe') return undefined;
  return process && buildToolOf(process.argv);
}

function buildToolOf(argv: readonly string[]): string | undefined {
  const names = argv.slice(0, 3).map((word) => word.slice(word.lastIndexOf('/') + 1));
  const [program = ''] = names;
  if (BUILD_TOOL.test(program)) return program;
  /* tsc itself, or the script that node runs. tsc accepts its build mode only as the first argument. */
  const at = names.findIndex((name) => TYPESCRIPT.test(name));
  return at !== -1 && BUILD_MODE.test(argv[at + 1] ?? '') ? 'tsc -b' : undefined;
}
