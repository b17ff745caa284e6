// Reduces drafts until a run would accept them.
// What one run shows may contradict itself, and a smaller declaration is better than a refused file.

import { qualifiedStepId, type Step } from '../../client/config/step.ts';
import { findRefusal } from '../../client/graph/trial.ts';
import type { RunContext } from '../../client/run/context.ts';
import { type DraftStep, type DraftSurroundings, draftTexts } from './draft.ts';

interface Acceptance extends DraftSurroundings {
  readonly root: string;
  readonly context: RunContext;
}

/** All drafts, if a run accepts them together; else each one as far as it fits with those before it. */
export async function acceptedDrafts(all: readonly DraftStep[], options: Acceptance): Promise<DraftStep[]> {
  if ((await refusal(all, options)) === undefined) return [...all];
  const accepted: DraftStep[] = [];
  for (const draft of all) {
    const why = await refusal([...accepted, draft], options);
    accepted.push(why === undefined ? draft : await lessened(draft, why, accepted, options));
  }
  return accepted;
}

/** Tries the draft without refused inputs, then without shared outputs, then with nothing declared. */
async function lessened(
  draft: DraftStep,
  why: string,
  before: readonly DraftStep[],
  options: Acceptance,
): Promise<DraftStep> {
  const claimed = before.flatMap(({ observed }) => observed.outputs);
  const outputs = draft.observed.outputs.filter((path) => !claimed.some((other) => overlap(path, other)));
  const isRight = async (inputs: readonly string[]) =>
    (await refusal([...before, narrowed(draft, inputs, outputs)], options)) === undefined;
  const remark = `a part of what was seen would be refused and is left out: ${why}`;
  if (!(await isRight([])))
    return withRemark({ ...draft, isPlain: true }, `${remark}; the step runs each time`);
  const inputs: string[] = [];
  for (const input of draft.observed.inputs) if (await isRight([...inputs, input])) inputs.push(input);
  return withRemark(narrowed(draft, inputs, outputs), remark);
}

function narrowed(draft: DraftStep, inputs: readonly string[], outputs: readonly string[]): DraftStep {
  return { ...draft, observed: { ...draft.observed, inputs, outputs } };
}

export function withRemark(draft: DraftStep, remark: string): DraftStep {
  const { observed } = draft;
  return { ...draft, observed: { ...observed, unsure: [remark, ...observed.unsure] } };
}

function overlap(a: string, b: string): boolean {
  return a === b || a.startsWith(`${b}/`) || b.startsWith(`${a}/`);
}

/** Ignores steps without a declaration, and those of an existing file that were not observed. */
export function refusal(
  drafts: readonly DraftStep[],
  { root, context, ...surroundings }: Acceptance,
): Promise<string | undefined> {
  const declared = new Set(
    drafts.flatMap(({ owner, name, isPlain }) => (isPlain ? [] : [qualifiedStepId(owner.name, name)])),
  );
  const isAsked = ({ id }: Step) => declared.has(id);
  return findRefusal(root, draftTexts(drafts, surroundings), context, isAsked);
}
