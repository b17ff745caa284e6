// A suspicion: an access that becomes a finding unless a later access explains it.
import { type AbsPath, foldersAbove } from '../../system/paths/absolute-path.ts';
import type { Access } from '../trace/access.ts';
import type { FindingKind, Fix } from './finding.ts';

export interface Suspicion {
  readonly kind: FindingKind;
  readonly access: Access;
  readonly path?: AbsPath;
  readonly detail?: string;
  readonly fix?: Fix;
  /** Checked after the last access. */
  readonly unless?: () => boolean;
}

/**
 * The suspicions that remain at the end: each kind once per path, without probes that another finding
 * implies.
 */
export function unexplained(suspicions: readonly Suspicion[]): Suspicion[] {
  const left = suspicions.filter(({ unless }) => !unless?.());
  const implied = impliedBy(left);
  const seen = new Set<string>();
  return left.filter(({ kind, path, detail }) => {
    if (kind === 'probe' && path !== undefined && implied.has(path)) return false;
    const key = path === undefined ? `${kind}\0\0${detail ?? ''}` : `${kind}\0${path}`;
    const isNew = !seen.has(key);
    seen.add(key);
    return isNew;
  });
}

/** A read or listed path exists, and so do its parents. */
function impliedBy(suspicions: readonly Suspicion[]): ReadonlySet<AbsPath> {
  const implied = new Set<AbsPath>();
  for (const { kind, path } of suspicions) {
    if (path === undefined) continue;
    if (kind === 'read' || kind === 'list' || kind === 'stale-output') implied.add(path);
    for (const folder of foldersAbove(path)) {
      if (implied.has(folder)) break;
      implied.add(folder);
    }
  }
  return implied;
}
