// Runs an action once under a tracer and judges its accesses.
// An audit uses no cache: it looks nothing up and publishes nothing. The outputs stay in place.
import { AssayError } from '../../core/errors.ts';
import type { RelPath } from '../../core/path.ts';
import type { Reproduction } from '../../hermeticity/reproduction.ts';
import type { TraceReport } from '../../hermeticity/trace/access.ts';
import type { Finding } from '../../hermeticity/verdict/finding.ts';
import { judge, type Verdict } from '../../hermeticity/verdict/verdict.ts';
import { type AbsPath, absPath, displayPath, isBelow } from '../../system/paths/absolute-path.ts';
import type { RunRequest } from '../action/request.ts';
import { clearState } from '../outputs/clear-state.ts';
import { cleanUpKilledRuns } from '../outputs/run-records.ts';
import type { RunContext } from '../run/context.ts';
import { executeBy } from '../run/execute.ts';
import { keyAction } from '../run/key.ts';
import { refuseSandboxedState, type StepHook } from '../run/step-hook.ts';
import { isObserved } from '../trace/evidence.ts';
import { missingInCleanCopy } from '../trace/output-folders.ts';
import { declarationOf, tracedBy, workingTracer } from '../trace/trace.ts';

export interface Audit {
  /** No finding, and the trace is complete. */
  readonly hermetic: boolean;
  readonly complete: boolean;
  /** Why the trace is incomplete; empty if it is complete. */
  readonly gaps: readonly string[];
  readonly exitCode: number;
  readonly findings: readonly Finding[];
  /** Paths of the workspace that were looked for, do not exist, and are no findings. Every hit compares them. */
  readonly absent: readonly string[];
  /** The trace of the first run. */
  readonly report: TraceReport;
  /** Folders of outputs that the command needs, does not make, and that a clean copy lacks. */
  readonly reliesOn: readonly RelPath[];
  /** What further runs showed, if requested. Their findings are among `findings`. */
  readonly reproduction?: Reproduction;
}

interface AuditOptions {
  /** Also run the action under varied conditions. */
  readonly reproduce: boolean;
}

export async function audit(request: RunRequest, context: RunContext, options: AuditOptions): Promise<Audit> {
  const repeat = options.reproduce ? await repeatBy(context) : undefined;
  const tracer = await workingTracer();
  const action = keyAction(request, context);
  startClean(request);
  const { exitCode, watched, commandMs, earlierOutputs } = await executeBy(tracedBy(tracer), action, context);
  const { report, folders } = watched;
  const verdict = judge(report, { ...declarationOf(action, folders), earlier: earlierOutputs });
  const { complete, findings: all } = verdict;
  const findings = all.filter((finding) => !isObserved(request, finding));
  const inputs = action.inputs.entries().map(({ path }) => path);
  const reliesOn = missingInCleanCopy(request, report.accesses, inputs);
  const absent = absentIn(absPath(request.workspace), verdict);
  const first = { complete, gaps: report.gaps, exitCode, findings, absent, report, reliesOn };
  if (!repeat) return { ...first, hermetic: complete && findings.length === 0 };
  const seen = { report, exitCode, tookMs: commandMs };
  return withReproduction(first, await repeat(action, context, seen).catch(unrepeatable));
}

/** Tools look for their configuration wherever they run, so most of these are worth no finding. */
function absentIn(workspace: AbsPath, { readSet, findings }: Verdict): string[] {
  const reported = new Set(findings.map(({ path }) => path));
  return readSet
    .filter(({ path, was, changed }) => was === 'absent' && !changed && isBelow(path, workspace))
    .map(({ path }) => displayPath(path, workspace))
    .filter((path) => !reported.has(path))
    .sort();
}

/** Refused before the command runs if this build cannot repeat it. */
async function repeatBy({ stepHook }: RunContext): Promise<NonNullable<StepHook['repeat']>> {
  const { repeat } = (await stepHook?.()) ?? {};
  if (!repeat)
    throw new AssayError('ASSAY_NOT_IN_BUILD', '--reproduce: this build of Assay has no wing for it');
  return repeat;
}

/** Removes the state together with the outputs: one without the other would confuse the tool. */
function startClean(request: RunRequest): void {
  if (request.state.length === 0) return;
  refuseSandboxedState(request);
  cleanUpKilledRuns(request.workspace);
  clearState(request.workspace, request.state);
}

/** If no second run is possible, the audit still reports the first one. */
function unrepeatable(error: unknown): Reproduction {
  if (!(error instanceof AssayError) || error.code !== 'ASSAY_LONG_PATH') throw error;
  return { findings: [], variations: [], runs: 0, gaps: [`it could not be run again: ${error.message}`] };
}

/** A comparison that was not possible counts as a gap in the trace. */
function withReproduction(first: Omit<Audit, 'hermetic'>, reproduction: Reproduction): Audit {
  const complete = first.complete && reproduction.gaps.length === 0;
  const findings = [...first.findings, ...reproduction.findings];
  const gaps = [...first.gaps, ...reproduction.gaps];
  return { ...first, hermetic: complete && findings.length === 0, complete, gaps, findings, reproduction };
}
