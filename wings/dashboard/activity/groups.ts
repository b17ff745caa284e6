// Groups: the requests of one invocation of another tool, shown as one run. Assay itself reports its runs.
// They are grouped by the invocation that the tool sends; without one, by the tool and the token, until there
// is no request for DASHBOARD.groupIdleMs.
import { hash } from 'node:crypto';
import type { Namespace } from '../../../core/namespace.ts';
import { documentOf } from '../../../server/history/documents.ts';
import type { Caller } from '../../../server/request/caller.ts';
import type { Session } from '../../../server/request/observer.ts';
import type { HistoryDocument } from '../../../store/history.ts';
import type { TailEvent } from '../api/schemas/parts.ts';
import { DASHBOARD } from '../limits.ts';
import type { StoredRow } from '../runs/run-documents.ts';
import { Ring } from './ring.ts';
import { type CacheEvent, eventOf, shownNamespace } from './tail.ts';

/** Where and for whom a lookup happens. */
type Place = Pick<CacheEvent, 'namespace' | 'identity' | 'at'>;

interface Group {
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
  /** The session that the tool named later, and lookups that turned out to be of another session. */
  session: string | undefined;
  readonly moved: WeakSet<CacheEvent>;
  savedMs: number;
  readonly lookups: Ring<CacheEvent>;
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
    const name = nameOf(caller, owner, identity);
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
      session: undefined,
      moved: new WeakSet<CacheEvent>(),
      savedMs: 0,
      lookups: new Ring<CacheEvent>(DASHBOARD.groupLookups),
    };
    this.#groups.set(name, group);
    return group;
  }

  /**
   * A tool that sends no invocation with its lookups may name it afterwards, as Turborepo does. The first session takes
   * the open group of the tool and token. Lookups of the next session move to a group of its own.
   */
  claim(caller: Caller, owner: Namespace, place: Place, { id, lookups }: Session): void {
    const current = this.#groups.get(nameOf(caller, owner, place.identity));
    if (!current || lookups.length === 0) return;
    current.session ??= id;
    const own = current.session === id ? current : this.#split(caller, current, place, { id, lookups });
    if (!own) return;
    own.savedMs += lookups.reduce((sum, { savedMs }) => sum + savedMs, 0);
    own.isDirty = true;
  }

  /** The group of another session than the one that has `current`. Takes its lookups from there. */
  #split(caller: Caller, current: Group, place: Place, { id, lookups }: Session): Group | undefined {
    const name = `${nameOf(caller, current.namespace, current.identity)}\0session ${id}`;
    const known = this.#groups.get(name);
    if (!known && this.#groups.size >= DASHBOARD.maxGroups) return undefined;
    const found = lookups.flatMap((lookup) => takeLookup(current, lookup) ?? []).sort((a, b) => a.at - b.at);
    const at = found[0]?.at;
    if (at === undefined) return known;
    const group =
      known ?? this.#begin(name, { ...caller, invocation: id }, current.namespace, { ...place, at });
    group.session = id;
    for (const lookup of found) addLookup(group, lookup);
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

/** Takes the newest lookup of that key out of a group. */
function takeLookup(group: Group, { key, what }: Session['lookups'][number]): CacheEvent | undefined {
  const isLeft = (one: CacheEvent) => !group.moved.has(one);
  const found = group.lookups.newest().find((one) => one.key === key && one.what === what && isLeft(one));
  if (!found) return undefined;
  group.moved.add(found);
  if (what === 'hit') group.hits--;
  else group.misses--;
  group.lastAt = group.lookups.newest().find(isLeft)?.at ?? group.startedAt;
  group.isDirty = true;
  return found;
}

export function addLookup(group: Group, lookup: CacheEvent): void {
  group.lastAt = lookup.at;
  group.isDirty = true;
  if (lookup.what === 'hit') group.hits++;
  else group.misses++;
  group.lookups.add(lookup);
}

function nameOf({ tool, invocation }: Caller, owner: Namespace, identity: string): string {
  return `${owner}\0${tool}\0${invocation ?? `\0${identity}`}`;
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
  const { id, caller, namespace, shown, identity, startedAt, lastAt, hits, misses, savedMs } = group;
  const lookups = [...group.lookups.newest()].filter((lookup) => !group.moved.has(lookup));
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
    savedMs,
    bytesUp: 0,
    bytesDown: 0,
    names: [],
    likeness: caller.tool,
  };
  const details: StoredLookups = {
    lookups: lookups.map((lookup) => eventOf({ ...lookup, run: undefined })),
  };
  const name = { namespace, id, at: startedAt };
  return [documentOf({ ...name, kind: 'run' }, row), documentOf({ ...name, kind: 'run-lookups' }, details)];
}
