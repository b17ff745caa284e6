// Groups: the requests of one invocation of another tool, shown as one run. Assay itself reports its runs.
// They are grouped by the invocation that the tool sends; without one, by the tool and the token, until there
// is no request for DASHBOARD.groupIdleMs.
import { hash } from 'node:crypto';
import { type Namespace, writtenFrom } from '../../core/namespace.ts';
import type { HistoryDocument } from '../../store/history.ts';
import type { TailEvent } from '../dashboard/api/types.ts';
import { documentOf } from '../dashboard/documents.ts';
import type { StoredRow } from '../dashboard/runs/run-documents.ts';
import { DASHBOARD } from '../limits.ts';
import type { Caller } from './caller.ts';
import { eventOf, type Happening } from './tail.ts';

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
  stored: number;
  isDirty: boolean;
  readonly lookups: Happening[];
}

/** The details of a grouped run in the history. */
export interface StoredLookups {
  readonly lookups: readonly TailEvent[];
}

export class RequestGroups {
  readonly #process: string;
  readonly #groups = new Map<string, Group>();

  constructor(process: string) {
    this.#process = process;
  }

  /** The id of the run that it belongs to. Undefined for Assay, and if there are too many groups. */
  add(caller: Caller, happening: Happening): string | undefined {
    if (caller.tool === 'assay') return undefined;
    const { namespace, identity, at, what } = happening;
    const owner = writtenFrom(namespace);
    const name = `${owner}\0${caller.tool}\0${caller.invocation ?? `\0${identity}`}`;
    const known = this.#groups.get(name);
    const isOver = known !== undefined && at - known.lastAt > DASHBOARD.groupIdleMs && !caller.invocation;
    if (!known && this.#groups.size >= DASHBOARD.maxGroups) return undefined;
    if (isOver) this.#groups.set(`${name}\0${known.id}`, known);
    const group = known && !isOver ? known : this.#begin(name, caller, owner, happening);
    group.lastAt = at;
    group.isDirty = true;
    if (what === 'hit') group.hits++;
    else if (what === 'miss') group.misses++;
    else group.stored++;
    group.lookups.push(happening);
    if (group.lookups.length > DASHBOARD.groupLookups) group.lookups.shift();
    return group.id;
  }

  #begin(name: string, caller: Caller, namespace: Namespace, { identity, at, ...rest }: Happening): Group {
    const unique = caller.invocation === undefined ? `${name}${at}${this.#process}` : name;
    const group = {
      id: hash('sha256', unique).slice(0, 32),
      caller,
      namespace,
      shown: eventOf({ identity, at, ...rest }).namespace,
      identity,
      startedAt: at,
      lastAt: at,
      hits: 0,
      misses: 0,
      stored: 0,
      isDirty: true,
      lookups: [],
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
      if (isOver) this.#groups.delete(name);
    }
    return documents;
  }
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
  const details: StoredLookups = { lookups: lookups.map(eventOf).reverse() };
  const name = { namespace, id, at: startedAt };
  return [documentOf({ ...name, kind: 'run' }, row), documentOf({ ...name, kind: 'run-lookups' }, details)];
}
