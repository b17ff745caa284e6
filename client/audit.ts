// Runs an action once under a tracer and judges it. Nothing is looked up and nothing is published: an audit is about the
// action, not about its result. Its outputs are left in place.
import type { Finding } from '../hermeticity/finding.ts';
import { judge } from '../hermeticity/verdict.ts';
import type { RunContext } from './context.ts';
import { executeBy } from './execute.ts';
import { keyOf } from './key.ts';
import type { RunRequest } from './request.ts';
import { chooseTracer, declarationOf, tracedBy } from './trace.ts';

export interface Audit {
  /** Nothing was found, and nothing can have been missed. */
  readonly hermetic: boolean;
  readonly complete: boolean;
  /** Why the trace is not complete, if it is not. */
  readonly gaps: readonly string[];
  readonly exitCode: number;
  readonly findings: readonly Finding[];
  readonly tracer: { readonly name: string; readonly version: string };
}

export async function audit(request: RunRequest, context: RunContext): Promise<Audit> {
  const tracer = await chooseTracer();
  const action = keyOf(request, context);
  const { exitCode, report, folders } = await executeBy(tracedBy(tracer), action, context);
  const { hermetic, complete, findings } = judge(report, declarationOf(action, folders));
  return { hermetic, complete, gaps: report.gaps, exitCode, findings, tracer: report.tracer };
}
