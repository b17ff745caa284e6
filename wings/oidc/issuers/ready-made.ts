// The rules of a repository of GitHub or a project of GitLab, which a configuration names by its number.
//
//   a run of the main branch       NAMESPACE/main            reads nothing else
//   a run of another branch        NAMESPACE/branch/NAME     reads NAMESPACE/main
//   a run of a tag                 NAMESPACE/tag/NAME        reads NAMESPACE/main
//   a pull request, and every      NAMESPACE/pr/NAME         reads the base branch, then NAMESPACE/main
//   other untrusted run
//
// The numbers of the repository and of its owner must both be right: names can be registered again, and a
// repository can be given to another owner.
import type { Namespace } from '../../../core/namespace.ts';
import { RIGHTS_BY_NAME } from '../../../server/access/rights.ts';
import type { IssuerKind } from '../../../server/config/issuer-fields.ts';
import { ACCESS } from '../../../server/limits.ts';
import type { Condition, Rule } from './rule.ts';
import type { Template } from './template.ts';

export interface Repository {
  readonly id: number;
  readonly owner: number;
  readonly namespace: Namespace;
  /** The short name of the main branch. */
  readonly mainBranch: string;
  /** A run of the main branch must have `ref_protected`. Else it is a run of another branch. */
  readonly isProtected: boolean;
}

const CLAIMS = {
  github: { id: 'repository_id', owner: 'repository_owner_id' },
  gitlab: { id: 'project_id', owner: 'namespace_id' },
} as const;

export function rulesOf(kind: Exclude<IssuerKind, 'generic'>, repository: Repository): Rule[] {
  const { id, owner, namespace, mainBranch, isProtected } = repository;
  const main: Template = [...namespace.split('/'), 'main'];
  const below = (kindOfRef: string, claim: string): Template => [
    ...namespace.split('/'),
    kindOfRef,
    { claim },
  ];
  const here = [is(CLAIMS[kind].id, String(id)), is(CLAIMS[kind].owner, String(owner))];
  const rule = (when: readonly Condition[], place: Pick<Rule, 'trusted' | 'untrusted'>): Rule => ({
    ...place,
    when: [...here, ...when],
    trustsAll: false,
    rights: new Set(RIGHTS_BY_NAME['read-write']),
    lifetimeMs: ACCESS.maxShortTokenMs,
  });
  const pullRequest = (...reads: Template[]) => ({
    untrusted: { parent: namespace, isShared: false, reads: [...reads, main] },
  });
  const protection = isProtected ? [is('ref_protected', 'true')] : [];
  return [
    rule([is('base_ref', mainBranch)], pullRequest()),
    rule([], pullRequest(below('branch', 'base_ref'))),
    rule([is('branch', mainBranch), ...protection], { trusted: { namespace: main, reads: [] } }),
    rule([], { trusted: { namespace: below('branch', 'branch'), reads: [main] } }),
    rule([], { trusted: { namespace: below('tag', 'tag'), reads: [main] } }),
  ];
}

function is(claim: string, value: string): Condition {
  return { claim, values: [value] };
}
