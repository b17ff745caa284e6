// `assay explain --run`: a step of a run that was reported to an Assay server. Reports have no values, so the
// differences are names, and the states of facts.
import { usage } from '../../core/cli/command.ts';
import { AssayError } from '../../core/errors.ts';
import type { ReportedStep } from '../../core/metadata/run-report-schema.ts';
import { isStepId } from '../../core/metadata/step-id.ts';
import type { KeyDifference } from '../../store/actions/difference.ts';
import { runOf } from '../remote/run-of.ts';
import { parseRemoteUrl } from '../remote/url.ts';
import { inOneLine } from '../terminal/sync-stream.ts';
import { seenText, whatDiffers } from './difference-text.ts';
import { differenceIn } from './differences.ts';

/** A step of a reported run, and its differences as the texts of misses know them. */
export interface FoundStep {
  readonly startedAt: string;
  readonly step: ReportedStep;
  readonly differences: readonly KeyDifference[];
  /** How many more the report does not list. */
  readonly unlisted: number;
}

interface ExplainedStep {
  readonly found: FoundStep;
  readonly json: object;
  /** At most `shown` differences. */
  text(shown: number): string;
}

export async function explainReported(
  id: string,
  wanted: string | undefined,
  { remote, token }: { readonly remote: string; readonly token: string | undefined },
): Promise<ExplainedStep> {
  /* Both ids are 32 hex digits. */
  if (!isStepId(id)) throw usage('the id of a run is 32 hex digits: the end of the address that it printed');
  const { startedAt, namespace, outcome, stepList } = await runOf(id, { url: parseRemoteUrl(remote), token });
  const step = stepOf(stepList, wanted);
  const { key, why, seen, differences = [], moreDifferences = 0 } = step;
  const found = differences.flatMap((one) => differenceIn(one) ?? []);
  const head = [
    `run      ${id} of ${startedAt}, ${outcome}${namespace ? `, in ${namespace}` : ''}`,
    `step     ${step.step}`,
    ...(key === undefined ? [] : [`key      ${key}`]),
    `outcome  ${step.outcome}: ${why}`,
    ...(seen ? [`seen     ${seenText(seen, 'its machine')}`] : []),
  ];
  return {
    found: { startedAt, step, differences: found, unlisted: moreDifferences },
    json: { run: id, startedAt, namespace, ...step },
    text(shown) {
      const lines = [...head, ...whatDiffers(found, { shown, unlisted: moreDifferences })];
      return `${lines.map(inOneLine).join('\n')}\n`;
    },
  };
}

function stepOf(steps: readonly ReportedStep[], wanted: string | undefined): ReportedStep {
  const [only, ...others] = wanted === undefined ? steps : steps.filter(({ step }) => step === wanted);
  if (only && others.length === 0) return only;
  const names = steps.map(({ step }) => step).slice(0, 20);
  const more = steps.length > names.length ? ` and ${steps.length - names.length} more` : '';
  if (wanted === undefined && steps.length > 0)
    throw usage(`name one of its steps: ${names.join(', ')}${more}`);
  throw new AssayError(
    'ASSAY_NO_HISTORY',
    `the run has no step ${wanted ?? ''}: it has ${names.join(', ')}${more}`,
  );
}
