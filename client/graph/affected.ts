// The steps that a change affects (--affected): those it reaches (step-reach.ts), and all that depend on them.
// Guaranteed: a step that is left out has a stored result that holds in this workspace, and whose command saw no
// changed path. So a step whose reads are not known is affected. One step too many is safe: it is a hit.
import { concurrently } from '../../core/concurrently.ts';
import type { PathSet } from '../../core/path-set.ts';
import type { Step } from '../config/step.ts';
import { REMOTE } from '../limits.ts';
import { changedPaths } from './changed-paths.ts';
import { isMadeBy, type ReachContext, StepReach } from './step-reach.ts';

/** What a step reads beyond its declaration; undefined if that is not known. */
type KnownReads = (step: Step) => Promise<PathSet | undefined>;

/** Among the steps `asked`, with all that they depend on. `ref`: "" for the main branch. */
export async function affectedBy(
  ref: string,
  change: Omit<ReachContext, 'seen'>,
  asked: readonly Step[],
  knownReads: KnownReads,
): Promise<Set<string>> {
  const { root, caller } = change;
  const changed = changedPaths(root, ref, caller);
  const reachedWith = (step: Step, read: PathSet) => {
    const reach = new StepReach(step, { ...change, seen: new Map([[step.id, read]]) });
    return changed.some((one) => reach.reaches(one));
  };
  const declared = asked.filter((step) => reachedWith(step, []));
  const reached = withDependents(new Set(declared.map(({ id }) => id)), asked);
  const others = asked.filter(
    (step) => !reached.has(step.id) && changed.some(({ path }) => !isMadeBy(step, path)),
  );
  await concurrently(others, REMOTE.concurrency, async (step) => {
    const read = await knownReads(step);
    if (!read || reachedWith(step, read)) reached.add(step.id);
  });
  return withDependents(reached, asked);
}

function withDependents(reached: Set<string>, asked: readonly Step[]): Set<string> {
  for (let grown = -1; grown !== reached.size; ) {
    grown = reached.size;
    for (const { id, dependsOn } of asked) if (dependsOn.some((one) => reached.has(one))) reached.add(id);
  }
  return reached;
}
