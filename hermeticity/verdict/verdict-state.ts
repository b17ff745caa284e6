// The state that all judges of one verdict share. It holds the report, the declaration, the policy, the
// action's own files so far, and the suspicions so far.

import { type AbsPath, absPath, isAtOrBelow, isBelow } from '../../system/paths/absolute-path.ts';
import { Listers } from '../lenses/listers.ts';
import type { Access, PathAccess, TraceReport } from '../trace/access.ts';
import type { Declared } from './declaration.ts';
import { kernelName } from './kernel-files.ts';
import { OwnFiles } from './own-files.ts';
import type { Policy } from './policy.ts';
import { StartUpReads } from './start-up-reads.ts';
import type { Suspicion } from './suspicion.ts';

/** Where a path lies, relative to the declaration. */
export type Location = 'workspace' | 'scratch' | 'temporary' | 'toolchain' | 'kernel' | 'elsewhere';

const SHARED_MEMORY = absPath('/dev/shm');

export class VerdictState {
  readonly report: TraceReport;
  readonly declared: Declared;
  readonly policy: Policy;
  readonly own = new OwnFiles();
  readonly suspicions: Suspicion[] = [];
  readonly startUps: StartUpReads;
  readonly listers: Listers;
  readonly #ownPids: ReadonlySet<string>;

  constructor(report: TraceReport, declared: Declared, policy: Policy) {
    this.report = report;
    this.declared = declared;
    this.policy = policy;
    this.#ownPids = new Set(report.processes.map(({ pid }) => String(pid)));
    this.listers = new Listers(report, declared);
    this.startUps = new StartUpReads(policy.startUpReads, report.accesses, (access) =>
      this.kernelName(access),
    );
  }

  /** The name of a kernel file on every machine; undefined for a file of a process that is not the action's. */
  kernelName({ path, asked }: Pick<PathAccess, 'path' | 'asked'>): string | undefined {
    return kernelName(path, asked, (pid) => this.#ownPids.has(pid));
  }

  suspect(suspicion: Suspicion): void {
    this.suspicions.push(suspicion);
  }

  locationOf(path: AbsPath): Location {
    if (this.declared.isInScratch(path)) return 'scratch';
    if (this.policy.runtimeRecords.some((records) => records.test(path))) return 'scratch';
    if (this.declared.isTool(path)) return 'toolchain';
    if (this.declared.isInTemporary(path)) return 'temporary';
    if (isAtOrBelow(path, this.declared.workspace)) return 'workspace';
    if (this.policy.machine.has(path) || isSharedMemory(path)) return 'elsewhere';
    if (this.policy.toolchain.some((folder) => isAtOrBelow(path, folder))) return 'toolchain';
    if (this.policy.kernel.some((folder) => isAtOrBelow(path, folder))) return 'kernel';
    return 'elsewhere';
  }

  /** The base name of the program that made this access. */
  programOf(access: Access): string {
    return baseName(this.report.processes[access.process]?.argv[0]);
  }

  /** The same, but "tsc" also if Node runs it as a script. */
  toolOf(access: Access): string {
    const program = this.programOf(access);
    const script = baseName(this.report.processes[access.process]?.argv[1]);
    return /^node(?:js)?$/.test(program) && /^tsc(?:\.js)?$/.test(script) ? 'tsc' : program;
  }
}

function baseName(path: string | undefined): string {
  return path?.split('/').at(-1) ?? '';
}

export function isSharedMemory(path: AbsPath): boolean {
  return isBelow(path, SHARED_MEMORY);
}
