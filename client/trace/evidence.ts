// Builds the evidence of a watched run: its findings, the Evidence message of its result, and its path set.
// A later lookup finds the result through that path set.
import { digestOf } from '../../core/digest.ts';
import type { Evidence } from '../../core/evidence.ts';
import type { PathSet } from '../../core/path-set.ts';
import type { Access, TraceReport } from '../../hermeticity/trace/access.ts';
import { type Finding, READ_KINDS } from '../../hermeticity/verdict/finding.ts';
import { POLICY_VERSION } from '../../hermeticity/verdict/policy-version.ts';
import { judge } from '../../hermeticity/verdict/verdict.ts';
import type { ScratchFolders } from '../action/environment.ts';
import type { RunRequest } from '../action/request.ts';
import type { FileDigests } from '../files/file-digest.ts';
import { OBSERVED } from '../limits.ts';
import { timeRefusal } from '../path-sets/file-times.ts';
import { gatherPathSet } from '../path-sets/gather.ts';
import { States } from '../path-sets/states.ts';
import type { KeyedAction } from '../run/key.ts';
import { judgeInSandbox } from './sandbox.ts';
import { declarationOf } from './trace.ts';

export interface Watched {
  readonly where: 'machine' | 'sandbox';
  readonly report: TraceReport;
  /** The scratch folders of the action; they are removed by now. */
  readonly folders: ScratchFolders;
}

export interface RunEvidence {
  readonly findings: readonly Finding[];
  readonly evidence: Evidence;
  /** Why the result may depend on file times, if it may. Throws if a path cannot be checked. */
  timeRefusal(): string | undefined;
  /** Throws if something that the action read changed while it ran. */
  pathSet(): PathSet;
}

/**
 * True if the action's observed inputs cover the finding: the path is in the path set, so nothing is
 * undeclared.
 * An output of another step is not covered, because an observation does not order the two steps.
 */
export function isObserved(request: Pick<RunRequest, 'observed' | 'unordered'>, finding: Finding): boolean {
  const { observed, unordered = [] } = request;
  const { kind, path = '' } = finding;
  const isUnordered = unordered.some((output) => path === output || path.startsWith(`${output}/`));
  return observed && READ_KINDS.has(kind) && !isUnordered;
}

export function buildEvidence(action: KeyedAction, watched: Watched, digests: FileDigests): RunEvidence {
  const { report, folders, where } = watched;
  const verdict =
    where === 'sandbox' ? judgeInSandbox(action, watched) : judge(report, declarationOf(action, folders));
  const findings = verdict.findings.filter((finding) => !isObserved(action.request, finding));
  return {
    findings,
    evidence: { ...evidenceOf(report, findings), sandboxed: where === 'sandbox' },
    timeRefusal: () => timeRefusal(action.request, verdict.timedReads),
    pathSet: () => gatherPathSet(action, verdict, folders, new States(action, digests)),
  };
}

function evidenceOf(
  { tracer, gaps, accesses }: TraceReport,
  findings: readonly Finding[],
): Omit<Evidence, 'sandboxed'> {
  const listed = findings.slice(0, OBSERVED.findings);
  return {
    tracer: tracer.name,
    tracerVersion: tracer.version,
    policy: POLICY_VERSION,
    accesses: digestOf(Buffer.from(accessList(accesses))).hash,
    findings: listed.map(({ kind, path = '', detail = '' }) => ({ kind, path, detail })),
    untoldFindings: findings.length - listed.length,
    gaps,
  };
}

function accessList(accesses: readonly Access[]): string {
  const lines = accesses.map((access) => `${access.kind} ${'path' in access ? access.path : ''}`);
  return [...new Set(lines)].sort().join('\n');
}
