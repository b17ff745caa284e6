// Writes the declarations that an audit missed into the step's own file, so that the next audit does not.
import { lstatSync, readlinkSync } from 'node:fs';
import { parseRelPath, ROOT, toSystemPath } from '../../core/path.ts';
import { type Finding, type Fix, patternOf } from '../../hermeticity/finding.ts';
import { type Addition, addToStep, asWrittenBy } from '../config/edit.ts';
import { type Step, takesEverything } from '../config/step.ts';
import { targetInWorkspace } from '../links.ts';

export interface Fixed {
  /** How many declarations were written, and where. */
  readonly added: number;
  readonly file: string;
  /** Findings that no declaration would mend. */
  readonly left: number;
}

export function fixStep(root: string, step: Step, findings: readonly Finding[]): Fixed {
  const fixes = findings.map(({ fix }) => (fix ? withTarget(root, fix) : []));
  const additions = fixes.flat().map((fix) => additionFor(step, fix));
  const added = addToStep(root, step, additions);
  return { added, file: step.source.file, left: fixes.filter((found) => found.length === 0).length };
}

/**
 * A link is in the key by its text: where it leads to a folder of the workspace, that must be declared too, or each run would
 * say that it is not. One that leads out of the workspace can't be declared for good.
 */
function withTarget(root: string, fix: Fix): Fix[] {
  if (fix.flag !== '--input') return [fix];
  const link = parseRelPath(fix.value.replaceAll(/\\(.)/g, '$1'));
  const path = toSystemPath(root, link);
  if (!lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) return [fix];
  const target = targetInWorkspace(link, readlinkSync(path));
  if (target === undefined) return [];
  const isFolder = lstatSync(toSystemPath(root, target), { throwIfNoEntry: false })?.isDirectory() ?? false;
  if (!isFolder) return [fix];
  return target === ROOT ? [] : [fix, { flag: '--input', value: patternOf(target) }];
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
  return { field, value: asWrittenBy(step, value) };
}
