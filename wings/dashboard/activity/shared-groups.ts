// One invocation of a tool behind a load balancer asks several nodes. Each node stores what it counted in the same
// document, beside the parts of the others, so the run shows the sum.
// Two nodes that write at the same moment may lose one part until its node writes again: a run of another tool is for
// people to look at, and nothing depends on it.

import { contentOf, documentOf } from '../../../server/history/documents.ts';
import type { History, HistoryDocument } from '../../../store/history.ts';
import { DASHBOARD } from '../limits.ts';
import type { RunPart, StoredRow } from '../runs/run-documents.ts';
import type { StoredLookups } from './groups.ts';

/** Adds the parts of other nodes to the documents of groups. */
export async function withOtherNodes(
  documents: readonly HistoryDocument[],
  process: string,
  history: History,
): Promise<HistoryDocument[]> {
  const merged: HistoryDocument[] = [];
  for (const document of documents) {
    const stored = await history.get(document.kind, document.id, [document.namespace]);
    if (document.kind === 'run') merged.push(mergedRow(document, stored, process));
    else merged.push(mergedLookups(document, stored));
  }
  return merged;
}

function mergedRow(
  document: HistoryDocument,
  stored: HistoryDocument | undefined,
  process: string,
): HistoryDocument {
  const own = contentOf<StoredRow>(document);
  if (!own) return document;
  const { hits, misses, savedMs } = own;
  const end = Date.parse(own.startedAt) + own.elapsedMs;
  const earlier = stored && contentOf<StoredRow>(stored);
  const others = Object.entries(earlier?.parts ?? {}).filter(([name]) => name !== process);
  const parts: Record<string, RunPart> = {
    ...Object.fromEntries(others.slice(-DASHBOARD.groupNodes)),
    [process]: { hits, misses, savedMs, end },
  };
  const all = Object.values(parts);
  const sum = (read: (part: RunPart) => number) => all.reduce((total, part) => total + read(part), 0);
  const at = Math.min(document.at, stored?.at ?? document.at);
  const row: StoredRow = {
    ...own,
    startedAt: new Date(at).toISOString(),
    elapsedMs: Math.max(...all.map((part) => part.end)) - at,
    hits: sum((part) => part.hits),
    misses: sum((part) => part.misses),
    savedMs: sum((part) => part.savedMs),
    parts,
  };
  const { kind, namespace, id } = document;
  return documentOf({ kind, namespace, id, at }, row);
}

function mergedLookups(document: HistoryDocument, stored: HistoryDocument | undefined): HistoryDocument {
  const earlier = (stored && contentOf<StoredLookups>(stored)?.lookups) ?? [];
  const own = contentOf<StoredLookups>(document)?.lookups ?? [];
  if (earlier.length === 0) return document;
  const name = ({ at, what, key }: StoredLookups['lookups'][number]) => `${at} ${what} ${key}`;
  const known = new Set(own.map(name));
  /* Lookups that were counted together have one time. They stay in the order in which they came. */
  const lookups = [...own, ...earlier.filter((lookup) => !known.has(name(lookup)))]
    .sort((a, b) => Date.parse(b.at) - Date.parse(a.at))
    .slice(0, DASHBOARD.groupLookups);
  const { kind, namespace, id } = document;
  const at = Math.min(document.at, stored?.at ?? document.at);
  return documentOf({ kind, namespace, id, at }, { lookups });
}
