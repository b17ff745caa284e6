// The state that all judges of one verdict share. It holds the report, the declaration, the policy, the
// action's own files so far, and the suspicions so far.
import { type AbsPath, absPath, isAtOrBelow, isBelow } from '../system/absolute-path.ts';
import type { Access, TraceReport } from '../trace/access.ts';
import type { Declared } from './declaration.ts';
import { OwnFiles } from './own-files.ts';
import type { Policy } from './policy.ts';
import type { Suspicion } from './suspicion.ts';

/** Where a path lies, relative to the declaration. */
export type Location = 'workspace' | 'scratch' | 'toolchain' | 'kernel' | 'elsewhere';

const SHARED_MEMORY = absPath('/dev/shm');

export class VerdictState {
  readonly report: TraceReport;
  readonly declared: Declared;
  readonly policy: Policy;
  readonly own = new OwnFiles();
  readonly suspicions: Suspicion[] = [];

  constructor(report: TraceReport, declared: Declared, policy: Policy) {
    this.report = report;
    this.declared = declared;
    this.policy = policy;
  }

  suspect(suspicion: Suspicion): void {
    this.suspicions.push(suspicion);
  }

  locationOf(path: AbsPath): Location {
    if (this.declared.isInScratch(path)) return 'scratch';
    if (this.declared.isTool(path)) return 'toolchain';
    if (isAtOrBelow(path, this.declared.workspace)) return 'workspace';
    if (this.policy.machine.has(path) || isSharedMemory(path)) return 'elsewhere';
    if (this.policy.toolchain.some((folder) => isAtOrBelow(path, folder))) return 'toolchain';
    if (this.policy.kernel.some((folder) => isAtOrBelow(path, folder))) return 'kernel';
    return 'elsewhere';
  }

  /** The base name of the program that made this access. */
  programOf(access: Access): string {
    return this.report.processes[access.process]?.argv[0]?.split('/').at(-1) ?? '';
  }
}

export function isSharedMemory(path: AbsPath): boolean {
  return isBelow(path, SHARED_MEMORY);
}
