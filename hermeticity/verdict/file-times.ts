// Which files of the workspace a command may have gone by the times of. A file's time is in no key and in no path set, so
// whoever keeps the result must know that.
//
// By the names of programs: what make, ninja or `tsc -b` looks at, they compare by time. A compiled module of Python holds its
// source's time, whoever loads it. Scripts that compare times themselves (`test a -nt b`, `find -newer`) are not seen.
import type { AbsPath } from '../system/absolute-path.ts';
import type { PathAccess, TracedProcess } from '../trace/access.ts';

export interface TimedRead {
  readonly path: AbsPath;
  /** The tool that goes by it. */
  readonly tool: string;
  readonly isInput: boolean;
}

const BUILD_TOOL = /^(?:[bgp]?make|remake|ninja(?:-build)?|samu|cargo|rake|ant)$/;
const TYPESCRIPT = /^(?:tsc|vue-tsc)(?:\.js)?$/;
const BUILD_MODE = /^--?b(?:uild)?$/i;
const COMPILED_MODULE = /\.py[co]$/;

/** The tool, if this access is a look at a file that may have been compared by its time. */
export function toolComparingTimes(
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
  /* Itself, or what node runs. Its build mode is always the first of its arguments. */
  const at = names.findIndex((name) => TYPESCRIPT.test(name));
  return at !== -1 && BUILD_MODE.test(argv[at + 1] ?? '') ? 'tsc -b' : undefined;
}
