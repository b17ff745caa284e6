// The differences of a miss, kept for `assay explain` as a blob of the local store, where its two actions or path
// sets will not tell them: the facts of an earlier run, or an action that only a server has.
// Like an action, the blob may be evicted. Then the reason is all that is left.
import { digestOf, type Hash } from '../../core/digest.ts';
import { RUN_REPORT } from '../../core/metadata/run-report.ts';
import type { ReportedDifference } from '../../core/metadata/run-report-schema.ts';
import { parseRelPath } from '../../core/path.ts';
import { differences, type KeyDifference } from '../../store/actions/difference.ts';
import { causeOfDifference } from '../../store/actions/miss.ts';
import { readBlob } from '../../store/shared/read-blob.ts';
import type { Blobs, Store } from '../../store/store.ts';
import { HISTORY } from '../limits.ts';
import type { HistoryEntry } from './history.ts';

/** Undefined if there are none, or they can't be stored. */
export async function keepDifferences(
  found: readonly KeyDifference[],
  blobs: Blobs,
): Promise<Hash | undefined> {
  if (found.length === 0) return undefined;
  const bytes = Buffer.from(JSON.stringify(found.slice(0, HISTORY.keptDifferences)));
  const digest = digestOf(bytes);
  try {
    await blobs.put(digest, bytes);
    return digest.hash;
  } catch {
    return undefined;
  }
}

/** Of an entry of the history. Throws if the store no longer has them. */
export async function differencesOf(
  entry: HistoryEntry,
  { blobs }: Pick<Store, 'blobs'>,
): Promise<KeyDifference[]> {
  if (entry.differences !== undefined) {
    const kept: KeyDifference[] = JSON.parse((await readBlob(entry.differences, blobs)).toString());
    return kept;
  }
  return entry.against === undefined ? [] : differences(entry.against, entry.key, blobs);
}

/** For reports and events: the names of facts and the kinds of their states. A digest may tell of private content. */
export function reportedDifferences(found: readonly KeyDifference[]): ReportedDifference[] {
  return found.slice(0, RUN_REPORT.maxDifferences).map((difference) => {
    const { kind, name = '' } = causeOfDifference(difference);
    const change = 'change' in difference ? difference.change : changeOf(difference);
    const short = { kind, name: name.slice(0, RUN_REPORT.maxName), change };
    if (difference.kind !== 'fact') return short;
    const { group, before, after } = difference;
    return { ...short, group, before: kindOfState(before), after: kindOfState(after) };
  });
}

/** As a report has it: empty texts stand for the values. Undefined for what this version does not know. */
export function differenceIn({ kind, name, change, ...fact }: ReportedDifference): KeyDifference | undefined {
  const values = { ...(change !== 'added' && { before: '' }), ...(change !== 'removed' && { after: '' }) };
  switch (kind) {
    case 'input':
    case 'tool':
      return kind === 'tool' ? { kind, name, change } : { kind, change, path: parseRelPath(name) };
    case 'outputs':
      return { kind: 'output', change: change === 'added' ? change : 'removed', path: name };
    case 'variable':
    case 'platform':
      return { kind, name, ...values };
    case 'command':
      return { kind, before: [], after: [] };
    case 'version':
      return { kind: 'key-version', before: '', after: '' };
    case 'fact':
      return { kind, name, group: fact.group ?? 'files', before: fact.before ?? '', after: fact.after ?? '' };
    default:
      return undefined;
  }
}

function changeOf({ before, after }: { before?: unknown; after?: unknown }): ReportedDifference['change'] {
  return before === undefined ? 'added' : after === undefined ? 'removed' : 'changed';
}

/** "file", "absent". The digest, the target or the number follows it. */
function kindOfState(state: string): string {
  return state.replace(/ .*$/s, '').slice(0, RUN_REPORT.maxState);
}
