// The ranks of findings, by what a person has to do. Reports list findings in this order.
//
//   fix      nothing can stand for it (network, daemons, removed files), or it is wrong: the result is not kept
//   left     the command left a file in the workspace that no output names
//   advice   a read, a probe or a listing. It is in the path set and is compared before every hit
import { proofOf } from '../../core/evidence.ts';
import type { Finding } from '../../hermeticity/verdict/finding.ts';

export const RANKS = ['fix', 'left', 'advice'] as const;
export type Rank = (typeof RANKS)[number];

type Ranked = Pick<Finding, 'kind' | 'path' | 'fix' | 'advice'>;

/** Kinds that a comparison stands for, but that are wrong nevertheless. */
const WRONG: ReadonlySet<Finding['kind']> = new Set(['stale-output', 'symlink-escape']);

/** A read of another step's output lacks an order, which no comparison replaces. */
export function rankOf({ kind, path = '', fix, advice }: Ranked): Rank {
  const isUnordered = fix?.flag === 'dependsOn' || advice !== undefined;
  if (WRONG.has(kind) || isUnordered) return 'fix';
  return ({ none: 'fix', local: 'left', compared: 'advice' } as const)[proofOf({ kind, path })];
}

/** By the path as a finding shows it: absolute or beginning with ".." if it lies outside. */
export function isInWorkspace({ path }: Pick<Finding, 'path'>): boolean {
  return path !== undefined && !path.startsWith('/') && path !== '..' && !path.startsWith('../');
}

export function byRank(findings: readonly Finding[]): Readonly<Record<Rank, readonly Finding[]>> {
  const ranked = Map.groupBy(findings, rankOf);
  return { fix: ranked.get('fix') ?? [], left: ranked.get('left') ?? [], advice: ranked.get('advice') ?? [] };
}
