// The receipt of a hit: whose run made the result, and what was compared just now to allow the hit.
// It is for people and for --json; nothing is decided by it.
import type { EvidenceStatus } from '../../core/evidence.ts';
import type { Receipt } from '../../core/metadata/receipt.ts';
import type { FactCounts } from '../path-sets/fact-counts.ts';

export interface HitReceipt extends Receipt {
  /** The evidence status of the run that made the result. */
  readonly status: EvidenceStatus;
  /** What the result depends on beyond its declaration. All of it was compared just now. */
  readonly facts: FactCounts;
  /**
   * How: `contents`, or `stats` if the action is up to date: the files have the stats that they had when
   * their contents were compared.
   */
  readonly compared: 'contents' | 'stats';
  /** Where the remote found it, if the remote has namespaces. */
  readonly namespace?: string;
}

/** One line, such as "made 2026-11-17 08:00:12 UTC by ci-3 at commit 1f2e3d4c5b6a, from 12 inputs; …". */
export function receiptText(receipt: HitReceipt): string {
  const { at, where, commit, inputs, tries, status, facts, compared, namespace } = receipt;
  const made = [
    at === undefined ? 'made at an unknown time' : `made ${at.slice(0, 19).replace('T', ' ')} UTC`,
    ...(where === undefined ? [] : [`by ${where}`]),
    ...(commit === undefined ? [] : [`at commit ${commit.slice(0, 12)}`]),
    ...(inputs === undefined ? [] : [`from ${counted(inputs, 'input')}`]),
    ...(tries === undefined ? [] : [`by try ${tries} of its command`]),
  ].join(' ');
  const found = namespace === undefined ? '' : `; found in ${namespace}`;
  return `${made}${found}; ${status}; ${factsText(facts, compared)}`;
}

function factsText(facts: FactCounts, compared: HitReceipt['compared']): string {
  const named = [
    facts.files > 0 && counted(facts.files, 'file'),
    facts.absent > 0 && counted(facts.absent, 'absent path'),
    facts.listings > 0 && counted(facts.listings, 'listing'),
    facts.libraries > 0 && (facts.libraries === 1 ? '1 library' : `${facts.libraries} libraries`),
    facts.machine > 0 &&
      `${facts.machine === 1 ? '1 property' : `${facts.machine} properties`} of the machine`,
  ].filter((part) => part !== false);
  if (named.length === 0) return 'no facts beyond the declaration';
  return `compared just now${compared === 'stats' ? ' by stats' : ''}: ${named.join(', ')}`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
