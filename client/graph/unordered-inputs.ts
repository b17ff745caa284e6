// Refuses a step whose input patterns cover an output of another step without a dependency on it. Its key
// would otherwise depend on what an earlier run left there. Ignored paths are no inputs, so they do not
// conflict. A step with "cache": false has no key.

import { AssayError } from '../../core/errors.ts';
import { nameOf, type RelPath, ROOT } from '../../core/path.ts';
import { referenceFrom } from '../config/dependencies.ts';
import { toConfigPath } from '../config/edit.ts';
import { type IndexedOutput, OutputIndex } from '../config/output-index.ts';
import { stepsBefore } from '../config/request.ts';
import type { StepTable } from '../config/step.ts';
import { type Step, takesEverything } from '../config/step.ts';
import type { StatRecorder } from '../files/stat-recorder.ts';
import { IgnoredPaths } from '../inputs/ignored-paths.ts';
import {
  type Alternative,
  type Exclusions,
  exclusionsOf,
  includedBy,
  mayBeFolder,
  reachOf,
  samplesBelow,
} from '../inputs/pattern-reach.ts';

/**
 * Reads .gitignore files through `observations`, so that a change of one invalidates the up-to-date state.
 */
export function refuseUnorderedInputs(steps: StepTable, observations: StatRecorder): void {
  const made = new OutputIndex(steps.values());
  const ignored = new IgnoredPaths(observations);
  for (const step of steps.values()) {
    if (!step.cache) continue;
    const found = coveredOutputs(step, steps, made, ignored);
    if (found.length > 0) throw refusal(step, steps, found);
  }
}

function coveredOutputs(
  step: Step,
  steps: StepTable,
  made: OutputIndex,
  ignored: IgnoredPaths,
): IndexedOutput[] {
  const exclusions = exclusionsOf(step.inputs);
  const found = new Map<RelPath, IndexedOutput>();
  for (const taken of includedBy(step.inputs)) {
    for (const one of made.below(taken.fixed)) {
      if (one.maker === step.id || step.dependsOn.includes(one.maker) || found.has(one.path)) continue;
      if (isTaken(one.path, taken, step, exclusions, ignored)) found.set(one.path, one);
    }
  }
  if (found.size === 0) return [];
  const before = stepsBefore(step, steps);
  return [...found.values()].filter(({ maker }) => !before.has(maker));
}

/** An exclusion or ignore rule that covers the whole folder covers the output in it. */
function isTaken(
  path: RelPath,
  taken: Alternative,
  { includeIgnored }: Step,
  exclusions: Exclusions,
  ignored: IgnoredPaths,
): boolean {
  const reach = reachOf(taken, path);
  const below = reach.below && mayBeFolder(path);
  if (!reach.itself && !below) return false;
  const seesHidden = includeIgnored || namesHidden(taken, ignored);
  const isLeftOut = (at: RelPath) => exclusions.has(at) || (!seesHidden && ignored.hides(at, false));
  if (mayBeFolder(path) && samplesBelow(path).every(isLeftOut)) return false;
  return below || !isLeftOut(path);
}

/** A pattern without wildcards takes its path even if .gitignore hides it. */
function namesHidden({ fixed, wild }: Alternative, ignored: IgnoredPaths): boolean {
  return wild.length === 0 && fixed !== ROOT && ignored.hides(fixed, true);
}

/** How many outputs the message names. */
const MOST_NAMED = 3;

function refusal(step: Step, steps: StepTable, found: readonly IndexedOutput[]): AssayError {
  const named = found.slice(0, MOST_NAMED).map(({ path, maker }) => `${path} (from ${maker})`);
  const more = found.length > MOST_NAMED ? `, and ${found.length - MOST_NAMED} more` : '';
  const outputs = `${named.join(', ')}${more}`;
  const add = remedies(step, steps, found).join(', or ');
  const detail = `${step.source.file}: ${step.id} has outputs of other steps among its inputs, in no declared order: ${outputs}; add ${add}`;
  return new AssayError('ASSAY_INPUT_UNORDERED', detail);
}

/** Offers a dependency only where it makes no cycle. */
function remedies(step: Step, steps: StepTable, found: readonly IndexedOutput[]): string[] {
  const makers = [...new Set(found.map(({ maker }) => maker))].flatMap((id) => steps.get(id) ?? []);
  const isOrderable = makers.every((maker) => !stepsBefore(maker, steps).has(step.id));
  const references = makers.map((maker) => JSON.stringify(referenceFrom(step, maker)));
  const exclusions = exclusionsFor(step, found).join(', ');
  return [
    ...(isOrderable && makers.length <= MOST_NAMED ? [`"dependsOn": [${references.join(', ')}]`] : []),
    takesEverything(step) ? `"inputs": ["**", ${exclusions}]` : `${exclusions} to its "inputs"`,
  ];
}

/** One pattern for all outputs if they share a name, else one for each of the named outputs. */
function exclusionsFor(step: Step, found: readonly IndexedOutput[]): string[] {
  const [{ path: first } = { path: ROOT }] = found;
  const pattern = (path: RelPath, text: string) =>
    JSON.stringify(`!${text}${mayBeFolder(path) ? '/**' : ''}`);
  const isShared = found.length > 1 && found.every(({ path }) => nameOf(path) === nameOf(first));
  if (isShared) return [pattern(first, `**/${nameOf(first)}`)];
  const named = found.slice(0, MOST_NAMED).map(({ path }) => pattern(path, toConfigPath(step, path)));
  return found.length > MOST_NAMED ? [...named, '…'] : named;
}
