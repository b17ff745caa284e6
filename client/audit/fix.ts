// `assay audit --fix`: writes missing declarations into the step's assay.json. A run must accept the changed
// file. What is not written has a reason.
import type { Fix } from '../../hermeticity/verdict/finding.ts';
import { type Addition, addToStep, toConfigPath } from '../config/edit.ts';
import type { Texts } from '../config/packages.ts';
import { type Step, takesEverything } from '../config/step.ts';
import { findRefusal } from '../graph/trial.ts';
import type { RunContext } from '../run/context.ts';
import { type GroupedAudit, subjectOf } from './groups.ts';

export interface Fixed {
  /** How many declarations were written, and where. */
  readonly added: number;
  readonly file: string;
  /** Findings that have no fix. */
  readonly left: number;
  /** The findings that `--fix` did not declare, each with the reason. */
  readonly refused: readonly Refused[];
}

interface Refused {
  /** The declaration, or the paths that none fits. */
  readonly value: string;
  /** How many paths that are. */
  readonly paths: number;
  readonly why: string;
}

/** Checks every declaration before it is written, for all packages that it applies to. */
export async function fixStep(
  root: string,
  step: Step,
  { findings, suggestions }: Pick<GroupedAudit, 'findings' | 'suggestions'>,
  context: RunContext,
): Promise<Fixed> {
  const { file, path } = step.source;
  const isSame = ({ id }: Step) => id === step.id;
  const hasSource = ({ source }: Step) => source.file === file && source.path.join() === path.join();
  const whyNot = (texts: Texts, isAsked: (one: Step) => boolean) =>
    findRefusal(root, texts, context, isAsked);
  // A file that is refused before the change (a package is not built yet) cannot show whether the change is
  // right.
  const isTried = (await whyNot(new Map(), hasSource)) === undefined ? hasSource : isSame;
  const attempt = (text: string) => whyNot(new Map([[file, text]]), isTried);
  const additions = suggestions.declare.flatMap(({ fixes }) => fixes.map((fix) => additionFor(step, fix)));
  const { added, refused } = await addToStep(root, step, additions, attempt);
  return {
    added,
    file,
    left: findings.filter(({ fix }) => !fix).length,
    refused: [
      ...suggestions.leave.map(({ why, findings: some }) => ({ ...subjectOf(some), why })),
      ...refused.map(({ addition, why }) => ({ value: addition.value, paths: 1, why })),
    ],
  };
}

const FIELDS = {
  '--input': 'inputs',
  '--optional-input': 'optionalInputs',
  '--output': 'outputs',
  '--env': 'env',
  '--tool': 'tools',
  dependsOn: 'dependsOn',
} as const;

function additionFor(step: Step, { flag, value }: Fix): Addition {
  if (flag === '--tool' || flag === '--env' || flag === 'dependsOn') return { field: FIELDS[flag], value };
  const field = flag === '--input' && takesEverything(step) ? 'optionalInputs' : FIELDS[flag];
  return { field, value: toConfigPath(step, value) };
}
