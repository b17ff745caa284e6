// Tells a client that the server takes reports of runs from it (core/metadata/run-report.ts).
import { RUNS_FORM, RUNS_HEADER } from '../../../core/metadata/run-report.ts';
import type { RequestContext } from '../../context.ts';

/** Alternating names and values. Empty for a token without the right to report, and for a server without the dashboard. */
export function announcement({ store, server }: RequestContext): string[] {
  const { takesReports, readOnly, wholeStore } = server;
  const mayReport =
    takesReports && store.identity.rights.has('runs:write') && !readOnly && wholeStore.history !== undefined;
  return mayReport ? [RUNS_HEADER, String(RUNS_FORM)] : [];
}
