// Writes the declarations that an audit missed into the step's own file, so that the next audit does not.
import { ROOT } from '../../core/path.ts';
import type { Finding, Fix } from '../../hermeticity/finding.ts';
import { type Addition, addToStep, asWrittenBy } from '../config/edit.ts';
import type { Step } from '../config/step.ts';

export interface Fixed {
  /** How many declarations were written, and where. */
  readonly added: number;
  readonly file: string;
  /** Findings that no declaration would mend. */
  readonly left: number;
}

export function fixStep(root: string, step: Step, findings: readonly Finding[]): Fixed {
  const fixes = findings.flatMap(({ fix }) => fix ?? []);
  const additions = fixes.map((fix) => additionFor(step, fix));
  const added = addToStep(root, step, additions);
  return { added, file: step.source.file, left: findings.length - fixes.length };
}

const FIELDS = {
  '--input': 'inputs',
  '--optional-input': 'optionalInputs',
  '--output': 'outputs',
  '--env': 'env',
  '--tool': 'tools',
} as const;

function additionFor(step: Step, { flag, value }: Fix): Addition {
  if (flag === '--tool' || flag === '--env') return { field: FIELDS[flag], value };
  const field = flag === '--input' && takesEverything(step) ? 'optionalInputs' : FIELDS[flag];
  return { field, value: asWrittenBy(step, value) };
}

/** A step that names no inputs takes all of its folder; naming one would take the others away. */
function takesEverything({ inputs, folder }: Step): boolean {
  const all = folder === ROOT ? '**' : `${folder}/**`;
  return inputs.some(({ pattern, optional }) => optional && pattern === all);
}
