// Groups: the requests of one invocation of another tool, shown as one run. Assay itself reports its runs.
// They are grouped by the invocation that the tool sends; without one, by the tool and the token, until there
// is no request for DASHBOARD.groupIdleMs.
import { hash } from 'node:crypto';
import type { Namespace } from '../../core/namespace.ts';
import type { HistoryDocument } from '../../store/history.ts';
import type { TailEvent } from '../dashboard/api/types.ts';
import { documentOf } from '../dashboard/documents.ts';
import type { StoredRow } from '../dashboard/runs/run-documents.ts';
import { DASHBOARD } from '../limits.ts';
import type { Caller } from './caller.ts';
import { Ring } from './ring.ts';
import { eventOf, type Happening, shownNamespace } from './tail.ts';

/** Where and for whom a lookup happens. */
type Place = Pick<Happening, 'namespace' | 'identity' | 'at'>;

export interface Group {
  readonly id: string;
  readonly caller: Caller;
  readonly namespace: Namespace;
  readonly shown: string;
  readonly identity: string;
  readonly startedAt: number;
  lastAt: number;
  hits: number;
  misses: number;
  isDirty: boolean;
  /** It is over, and stored. */
  isForgotten: boolean;
  readonly lookups: Ring<Happening>;
}

/** The details of a grouped run in the history. */
export interface StoredLookups {
  readonly lookups: readonly TailEvent[];
}

export class RequestGroups {
  readonly #process: string;
  readonly #groups = new Map<string, Group>();
  /** The last group of each caller: to make the name of a group costs more than all the rest. */
  readonly #lastOf = new WeakMap<Caller, Group>();

  constructor(process: string) {
    this.#process = process;
  }

  /** The group that it belongs to. Undefined for Assay, and if there are too many groups. */
  find(caller: Caller, owner: Namespace, place: Place): Group | undefined {
    if (caller.tool === 'assay') return undefined;
    const last = this.#lastOf.get(caller);
    if (last && isOpenFor(last, owner, place)) return last;
    const group = this.#findByName(caller, owner, place);
    if (group) this.#lastOf.set(caller, group);
    return group;
  }

  #findByName(caller: Caller, owner: Namespace, place: Place): Group | undefined {
    const { identity } = place;
    const name = `${owner}\0${caller.tool}\0${caller.invocation ?? `\0${identity}`}`;
    const known = this.#groups.get(name);
    if (known && isOpenFor(known, owner, place)) return known;
    if (!known && this.#groups.size >= DASHBOARD.maxGroups) return undefined;
    if (known) this.#groups.set(`${name}\0${known.id}`, known);
    return this.#begin(name, caller, owner, place);
  }

  #begin(name: string, caller: Caller, namespace: Namespace, place: Place): Group {
    const { identity, at } = place;
    const unique = caller.invocation === undefined ? `${name}${at}${this.#process}` : name;
    const group = {
      id: hash('sha256', unique).slice(0, 32),
      caller,
      namespace,
      shown: shownNamespace(place.namespace),
      identity,
      startedAt: at,
      lastAt: at,
      hits: 0,
      misses: 0,
      isDirty: true,
      isForgotten: false,
      lookups: new Ring<Happening>(DASHBOARD.groupLookups),
    };
    this.#groups.set(name, group);
    return group;
  }

  /** What is new since the last flush. A group that has ended is forgotten. */
  flush(now: number, isLast: boolean): HistoryDocument[] {
    const documents: HistoryDocument[] = [];
    for (const [name, group] of this.#groups) {
      const isOver = isLast || now - group.lastAt > DASHBOARD.groupIdleMs;
      if (isOver || group.isDirty) documents.push(...documentsOf(group, isOver));
      group.isDirty = false;
      if (!isOver) continue;
      this.#groups.delete(name);
      group.isForgotten = true;
    }
    return documents;
  }
}

export function addLookup(group: Group, lookup: Happening): void {
  group.lastAt = lookup.at;
  group.isDirty = true;
  if (lookup.what === 'hit') group.hits++;
  else group.misses++;
  group.lookups.add(lookup);
}

/** An invocation has one group. Without one, a group is one identity's, and ends when there is a pause. */
function isOpenFor(
  { caller, namespace, identity, lastAt, isForgotten }: Group,
  owner: Namespace,
  place: Place,
): boolean {
  if (isForgotten || namespace !== owner) return false;
  if (caller.invocation !== undefined) return true;
  return identity === place.identity && place.at - lastAt <= DASHBOARD.groupIdleMs;
}

function documentsOf(group: Group, isOver: boolean): HistoryDocument[] {
  const { id, caller, namespace, shown, identity, startedAt, lastAt, hits, misses, lookups } = group;
  const row: StoredRow = {
    id,
    source: 'grouped',
    tool: caller.tool,
    ...(caller.version !== undefined && { toolVersion: caller.version }),
    namespace: shown,
    identity,
    startedAt: new Date(startedAt).toISOString(),
    elapsedMs: lastAt - startedAt,
    outcome: isOver ? 'unknown' : 'running',
    steps: 0,
    hits,
    misses,
    failed: 0,
    savedMs: 0,
    bytesUp: 0,
    bytesDown: 0,
    names: [],
    likeness: caller.tool,
  };
  const details: StoredLookups = {
    lookups: [...lookups.newest()].map((lookup) => eventOf({ ...lookup, run: undefined })),
  };
  const name = { namespace, id, at: startedAt };
  return [documentOf({ ...name, kind: 'run' }, row), documentOf({ ...name, kind: 'run-lookups' }, details)];
}
