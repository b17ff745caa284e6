// Finds the undeclared reads of a step in the workspace: the path set of a stored result that would be a hit here and
// now. The search fetches nothing but the result itself. Undefined if no result holds, or if its run was not wholly watched: then
// nobody knows what the step reads in this state of the workspace.
import { decodeEvidence, evidenceStatusOf } from '../../core/evidence.ts';
import { DEFAULT_NAMESPACE } from '../../core/namespace.ts';
import type { PathSet } from '../../core/path-set.ts';
import { decodeResult } from '../../core/result.ts';
import { requestOf } from '../config/request.ts';
import type { Step } from '../config/step.ts';
import type { KeyedAction } from '../inputs/keyed-action.ts';
import { ForeignStates } from '../path-sets/foreign-states.ts';
import { type Candidate, candidates, remoteCandidates } from '../path-sets/path-sets.ts';
import { remembering } from '../path-sets/remembered-states.ts';
import { WORKSPACE } from '../path-sets/roots.ts';
import { States } from '../path-sets/states.ts';
import { localPathSets, remotePathSets } from '../path-sets/storage.ts';
import { handleFault, listsOf } from '../remote/remote.ts';
import type { Cache } from '../run/caches.ts';
import { keyAction } from '../run/key.ts';
import type { ReachContext } from './step-reach.ts';

export async function knownReads(
  step: Step,
  { root, steps, caller }: Omit<ReachContext, 'seen'>,
  cache: Cache,
): Promise<PathSet | undefined> {
  try {
    const request = requestOf(step, { root, steps }, caller);
    const action = keyAction(request, { cache, caller, report: IGNORE });
    const states = new States(action, cache.digests, cache.systemFiles);
    const set = (await locally(action, states, cache)) ?? (await atRemote(action, states, cache));
    return set?.filter((seen) => seen.root === WORKSPACE);
  } catch {
    // An input is absent, such as the output of a step that did not run here: there is no key yet.
    return undefined;
  }
}

const IGNORE = () => {};

async function locally({ key }: KeyedAction, states: States, cache: Cache): Promise<PathSet | undefined> {
  const store = await cache.openStore();
  if (!store) return undefined;
  const found = candidates(key, localPathSets(store), states.of);
  return firstWatched(
    found,
    async ({ hash }) => (await store.results.get({ namespace: DEFAULT_NAMESPACE, key: hash }))?.bytes,
  );
}

async function atRemote({ key }: KeyedAction, states: States, cache: Cache): Promise<PathSet | undefined> {
  const [store, remote] = await Promise.all([cache.openStore(), cache.openRemote()]);
  if (!store || !remote?.usable) return undefined;
  const foreign = new ForeignStates(states, Date.now, cache.systemFiles);
  const admits = (set: PathSet) => set.every((seen) => foreign.admits(seen));
  const slots = remotePathSets(remote, store, IGNORE);
  const found = remoteCandidates(
    key,
    listsOf(remote, { purpose: 'compare' }),
    slots,
    remembering(foreign.of),
    admits,
  );
  try {
    return await firstWatched(found, (result) => remote.getResult(result));
  } catch (error) {
    handleFault(remote, error);
    return undefined;
  }
}

async function firstWatched(
  found: AsyncIterable<Candidate>,
  read: (key: Candidate['key']) => Promise<Uint8Array | undefined>,
): Promise<PathSet | undefined> {
  for await (const { key, set, result } of found) {
    const bytes = set && (result ?? (await read(key)));
    if (bytes && isWatched(bytes)) return set;
  }
  return undefined;
}

function isWatched(bytes: Uint8Array): boolean {
  const { exitCode, executionMetadata } = decodeResult(bytes);
  const status = evidenceStatusOf(decodeEvidence(executionMetadata?.auxiliaryMetadata ?? []));
  return exitCode === 0 && (status === 'declared' || status === 'observed');
}
