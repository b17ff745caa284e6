// Explains why no path set of a key leads to a result any more: names the first fact whose state differs.
import type { Hash } from '../../core/digest.ts';
import type { ObservedPath, PathSet, StateOf } from '../../core/path-set.ts';
import type { FactChange } from '../../store/actions/difference.ts';
import type { FactNow, Miss } from '../../store/actions/miss.ts';
import { factKindOf } from './fact-counts.ts';
import { slots } from './path-sets.ts';
import type { States } from './states.ts';
import type { PathSetStorage } from './storage.ts';

/** The fact that is the cause of the miss. */
export interface FactDifference {
  readonly miss: Miss;
  /** All facts of that path set that differ. */
  readonly facts: readonly FactChange[];
}

/** For the path sets that are stored for a key. Undefined if there is none, or no difference. */
export async function firstFactDifference(
  key: Hash,
  storage: PathSetStorage,
  states: States,
): Promise<FactDifference | undefined> {
  const sets: PathSet[] = [];
  for await (const { set } of slots(key, storage, states.of)) {
    if (!set) break;
    sets.push(set);
  }
  return closestDifference(sets, states, states.of);
}

/** Compares with the path set that has the fewest differences. Undefined if there is no difference. */
export function closestDifference(
  sets: readonly PathSet[],
  states: Pick<States, 'roots' | 'shownNow'>,
  stateOf: StateOf,
): FactDifference | undefined {
  const differing = sets.map((set) => set.filter((seen) => stateOf(seen) !== seen.state));
  const [closest = []] = differing.sort((a, b) => a.length - b.length);
  const [first, ...more] = closest.toSorted((a, b) => tellingLess(a) - tellingLess(b));
  if (!first) return undefined;
  const shown = states.roots.shown(first);
  const changed = listed(first, shown, states) ?? { name: shown, now: become(first.state, stateOf(first)) };
  const facts = [first, ...more].map((one) => factChange(one, stateOf(one), states));
  const miss = { kind: 'fact', ...changed, note: first.note, more: more.length } as const;
  return { miss, facts: withoutRepeats(facts) };
}

/**
 * A note says what to do about the difference. A path below the workspace or beside it has the same name in each
 * clone; the path set may have the same file by its place on the machine that recorded it.
 */
function tellingLess({ note, root }: ObservedPath): number {
  return 2 * Number(note === '') + Number(root === '');
}

/** A path set may name one file below several roots. */
function withoutRepeats(facts: readonly FactChange[]): FactChange[] {
  return [...new Map(facts.map((fact) => [JSON.stringify(fact), fact])).values()];
}

function factChange(
  seen: ObservedPath,
  after: string,
  states: Pick<States, 'roots' | 'shownNow'>,
): FactChange {
  const shown = states.roots.shown(seen);
  const name = listed(seen, shown, states)?.name ?? shown;
  return { kind: 'fact', group: factKindOf(seen, () => seen.state), name, before: seen.state, after };
}

/** The first name of a folder that came, went or became something else. */
function listed(
  seen: ObservedPath,
  folder: string,
  { shownNow }: Pick<States, 'shownNow'>,
): { readonly name: string; readonly now: FactNow } | undefined {
  const now = seen.shown.length > 0 || (seen.names && seen.left !== '') ? shownNow(seen) : undefined;
  if (!now) return undefined;
  const [before, after] = [byName(seen.shown), byName(now)];
  for (const [name, type] of [...after, ...before]) {
    if (before.get(name) === after.get(name)) continue;
    const path = folder === '.' ? name : `${folder}/${name}`;
    if (!before.has(name)) return { name: path, now: 'new' };
    return { name: path, now: after.has(name) ? (TYPES[type] ?? 'something else') : 'gone' };
  }
  return undefined;
}

const TYPES: Readonly<Record<string, FactNow>> = { f: 'a file', d: 'a folder', l: 'a link' };

function byName(lines: readonly string[]): ReadonlyMap<string, string> {
  return new Map(lines.map((line) => [line.slice(line.indexOf(' ') + 1), line.slice(0, line.indexOf(' '))]));
}

function become(before: string, now: string): FactNow {
  if (before === 'absent') return 'new';
  if (now === 'absent') return 'gone';
  return before.startsWith('value ') ? 'another' : 'changed';
}
