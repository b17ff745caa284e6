// The run that `assay report` tells of: the last one here, or one that was reported to an Assay server.
// Both become the same page, which the summary of a run has, too.
import { usage } from '../../../core/cli/command.ts';
import { AssayError } from '../../../core/errors.ts';
import { isStepId } from '../../../core/metadata/step-id.ts';
import { pageOf, runOf } from '../../remote/run-of.ts';
import { parseRemoteUrl } from '../../remote/url.ts';
import { allRuns, ranIn } from '../../report/all-runs.ts';
import type { SummaryPage } from '../../view/markdown.ts';
import { countsOf } from '../../view/run-totals.ts';

/** The newest run in this folder. `store`: the store's folder. */
export function lastRunIn(folder: string, store: string): SummaryPage {
  const run = allRuns(store).findLast((one) => ranIn(folder, one));
  if (!run) throw new AssayError('ASSAY_NO_HISTORY', `nothing was run in ${folder} with this store`);
  const rows = run.steps.map(([step, outcome, commandMs, elapsedMs, why = '']) => ({
    ...{ step, outcome, commandMs, elapsedMs, why },
  }));
  return { counts: countsOf(rows, run), rows, warnings: run.warnings ?? [] };
}

export async function reportedRun(
  id: string,
  { remote, token }: { readonly remote: string; readonly token: string | undefined },
): Promise<SummaryPage> {
  /* Both ids are 32 hex digits. */
  if (!isStepId(id)) throw usage('the id of a run is 32 hex digits: the end of the address that it printed');
  const url = parseRemoteUrl(remote);
  const run = await runOf(id, { url, token });
  if (run.source === 'grouped')
    throw new AssayError('ASSAY_NO_HISTORY', `the run ${id} is one of ${run.tool}, which reports no steps`);
  const rows = run.stepList.map(({ step, outcome, commandMs, elapsedMs, why, key, exitCode }) => {
    const isHit = outcome === 'hit-local' || outcome === 'hit-remote';
    const ended = outcome === 'failed' && key !== undefined ? `${why}: ended with ${exitCode}` : why;
    return { step, outcome, commandMs, elapsedMs, why: isHit ? '' : ended };
  });
  return { counts: countsOf(rows, run), rows, warnings: run.warnings, address: pageOf(id, url) };
}
