// `assay audit --fix`: writes missing declarations into the step's assay.json. A run must accept the changed
// file.
import { lstatSync, readlinkSync } from 'node:fs';
import { parseRelPath, ROOT, toSystemPath } from '../../core/path.ts';
import { type Finding, type Fix, patternOf } from '../../hermeticity/verdict/finding.ts';
import { type Addition, addToStep, toConfigPath } from '../config/edit.ts';
import type { Texts } from '../config/packages.ts';
import { type Step, takesEverything } from '../config/step.ts';
import { targetInWorkspace } from '../files/links.ts';
import { findRefusal } from '../graph/trial.ts';
import type { RunContext } from '../run/context.ts';

export interface Fixed {
  /** How many declarations were written, and where. */
  readonly added: number;
  readonly file: string;
  /** Findings that no declaration fixes. */
  readonly left: number;
  /** Declarations that a run would refuse, with the reason. They are not written. */
  readonly refused: readonly { readonly value: string; readonly why: string }[];
}

/** Checks every declaration before it is written, for all packages that it applies to. */
export async function fixStep(
  root: string,
  step: Step,
  findings: readonly Finding[],
  context: RunContext,
): Promise<Fixed> {
  const { file, path } = step.source;
  const fixes = findings.map(({ fix }) => (fix ? withTarget(root, fix) : []));
  const wanted = [...new Map(fixes.flat().map((fix) => [`${fix.flag} ${fix.value}`, fix])).values()];
  const contrary = wanted.filter((fix) => isContrary(fix, wanted));
  const clear = wanted.filter((fix) => !contrary.includes(fix));
  const isSame = ({ id }: Step) => id === step.id;
  const hasSource = ({ source }: Step) => source.file === file && source.path.join() === path.join();
  const whyNot = (texts: Texts, isAsked: (one: Step) => boolean) =>
    findRefusal(root, texts, context, isAsked);
  // A file that is refused before the change (a package is not built yet) cannot show whether the change is
  // right.
  const isTried = (await whyNot(new Map(), hasSource)) === undefined ? hasSource : isSame;
  const attempt = (text: string) => whyNot(new Map([[file, text]]), isTried);
  const additions = clear.map((fix) => additionFor(step, fix));
  const { added, refused } = await addToStep(root, step, additions, attempt);
  return {
    added,
    file,
    left: fixes.filter((found) => found.length === 0).length,
    refused: [
      ...contrary.map(({ value }) => ({ value, why: 'the command both reads and writes it' })),
      ...refused.map(({ addition, why }) => ({ value: addition.value, why })),
    ],
  };
}

/** A path that is read and written is neither input nor output: the key would depend on the last run. */
function isContrary({ flag, value }: Fix, all: readonly Fix[]): boolean {
  const others = flag === '--input' ? '--output' : '--input';
  if (flag !== '--input' && flag !== '--output') return false;
  return all.some(
    (other) =>
      other.flag === others && (flag === '--input' ? isAt(value, other.value) : isAt(other.value, value)),
  );
}

function isAt(path: string, output: string): boolean {
  return path === output || path.startsWith(`${output}/`);
}

/**
 * A link is in the key by its target text. If it leads to a folder of the workspace, that folder must be
 * declared too. A link out of the workspace cannot be declared.
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
  return { field, value: toConfigPath(step, value) };
}
