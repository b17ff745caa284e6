// Tells a client that the server takes reports of runs from it (core/metadata/run-report.ts).
import { RUNS_FORM, RUNS_HEADER } from '../../../core/metadata/run-report.ts';
import type { RequestContext } from '../../context.ts';

/** Alternating names and values. Empty for a token without the right to report. */
export function announcement({ store, server }: RequestContext): string[] {
  const takesReports =
    store.identity.rights.has('runs:write') && !server.readOnly && server.wholeStore.history !== undefined;
  return takesReports ? [RUNS_HEADER, String(RUNS_FORM)] : [];
}
