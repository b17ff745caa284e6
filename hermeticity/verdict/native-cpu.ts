// Decides whether a run asked a compiler for code that fits this machine's CPU (-march=native and similar). Then the
// result depends on the CPU's features. A compiler that is asked for anything else does not look at the CPU.
import { type AbsPath, relativeIn } from '../../system/paths/absolute-path.ts';
import type { TraceReport } from '../trace/access.ts';
import type { DeclaredAccess } from './declaration.ts';

/** gcc, clang and others; rustc and cargo. Also inside a longer text, such as a shell's script. */
const NATIVE = /(?:-m(?:arch|tune|cpu)|target-cpu)=native(?![\w.-])/;
/** gcc's driver expands -march=native before it starts the compiler proper, and adds these only then. */
const EXPANDED = /^(?:--param=)?l[12]-cache-(?:line-)?size=/;

export function usesNativeCpu(
  report: TraceReport,
  { workspace, textOf, variables = [] }: Pick<DeclaredAccess, 'workspace' | 'textOf' | 'variables'>,
): boolean {
  const isInArguments = report.processes.some(
    ({ argv, argvIsCut }) => argvIsCut || argv.some((text) => NATIVE.test(text) || EXPANDED.test(text)),
  );
  if (isInArguments || variables.some((value) => NATIVE.test(value))) return true;
  return responseFiles(report).some((path) => {
    const relative = relativeIn(workspace, path);
    return relative !== undefined && NATIVE.test(textOf(relative));
  });
}

/**
 * The files that programs read as "@file" arguments. Such an argument is relative to the program's working
 * folder, which the report does not tell, so every file of that name counts.
 */
function responseFiles({ processes, accesses }: TraceReport): AbsPath[] {
  const names = new Set(
    processes.flatMap(({ argv }) => argv.filter((text) => text.startsWith('@')).map(lastPart)),
  );
  if (names.size === 0) return [];
  return accesses.flatMap((access) =>
    access.kind === 'read' && names.has(lastPart(access.path)) ? [access.path] : [],
  );
}

function lastPart(text: string): string {
  return text.slice(text.lastIndexOf('/') + 1).replace(/^@/, '');
}
