// Groups findings by what to do about them: first what must be fixed, then what is left undeclared, then
// advice. A group is one line of a report. Every finding is in exactly one group.
import type { RelPath } from '../../core/path.ts';
import { type Finding, type FindingKind, type Fix, fixText } from '../../hermeticity/verdict/finding.ts';
import type { RunRequest } from '../action/request.ts';
import { isInWorkspace, RANKS, type Rank, rankOf } from '../trace/finding-rank.ts';
import type { Audit } from './audit.ts';
import { KINDS } from './finding-kinds.ts';
import { type Suggestions, suggest } from './suggest.ts';
import { WorkspaceFiles } from './workspace-files.ts';

export interface FindingGroup {
  readonly rank: Rank;
  /** The findings of the group in a few words: "17 read and 2 listed in src". */
  readonly what: string;
  /** What to do, or why there is nothing to declare. */
  readonly remedy: string;
  /** The declarations that cover all of it; empty if none does. */
  readonly fixes: readonly Fix[];
  readonly findings: readonly Finding[];
}

/** An audit with its findings in groups, and what to declare. */
export interface GroupedAudit extends Audit {
  readonly groups: readonly FindingGroup[];
  readonly suggestions: Suggestions;
}

/** `home`: the folder of the step's package. */
export function grouped(audit: Audit, request: RunRequest, home: RelPath): GroupedAudit {
  const suggestions = suggest(audit.findings, new WorkspaceFiles(request), home);
  return { ...audit, groups: groupFindings(audit.findings, suggestions), suggestions };
}

function groupFindings(findings: readonly Finding[], { declare, leave }: Suggestions): FindingGroup[] {
  const placed = new Set([...declare, ...leave].flatMap((one) => one.findings));
  const groups = [
    ...declaredGroups(declare),
    ...leave.flatMap(({ why, findings: some }) => split(some, rankOf).map((part) => group(part, why))),
    ...split(
      findings.filter((finding) => !placed.has(finding)),
      causeOf,
    ).map((part) => group(part, remedyFor(part))),
  ];
  return groups.sort((a, b) => weight(a) - weight(b) || b.findings.length - a.findings.length);
}

/** By rank; in a rank first what a declaration mends. */
function weight({ rank, fixes }: FindingGroup): number {
  return RANKS.indexOf(rank) * 2 + (fixes.length > 0 ? 0 : 1);
}

/** A pattern is a group of its own. Names without wildcards share one. */
function declaredGroups(declare: Suggestions['declare']): FindingGroup[] {
  const parts = split(declare, ({ fixes, findings: [first] }) => {
    const flags = fixes.map(fixText).join(' ');
    const isPattern = fixes.some(({ value }) => value.includes('*'));
    return `${first && rankOf(first)} ${isPattern ? flags : fixes[0]?.flag}`;
  });
  return parts.map((part) => {
    const fixes = part.flatMap((one) => one.fixes);
    const all = part.flatMap((one) => one.findings);
    return { ...group(all, `declare ${fixes.map(fixText).join(' ')}`), fixes };
  });
}

function group(findings: readonly Finding[], remedy: string): FindingGroup {
  const [first] = findings;
  return { rank: first ? rankOf(first) : 'advice', what: describe(findings), remedy, fixes: [], findings };
}

function split<T>(items: readonly T[], key: (item: T) => string): T[][] {
  return [...Map.groupBy(items, key).values()];
}

/** Findings that no declaration mends, by their cause: the kind, or where they lie. */
function causeOf(finding: Finding): string {
  const { kind, advice = '' } = finding;
  if (rankOf(finding) !== 'advice') return `${kind} ${advice}`;
  if (finding.path === undefined) return `asked ${finding.detail}`;
  return isInWorkspace(finding) ? 'in the workspace' : 'outside';
}

function remedyFor([first]: readonly Finding[]): string {
  if (!first) return '';
  if (rankOf(first) !== 'advice') return first.advice ?? KINDS[first.kind].mend;
  if (first.path === undefined) return 'the answer is compared, and no declaration names it';
  return isInWorkspace(first)
    ? 'no declaration names it'
    : 'outside the workspace, where no declaration reaches';
}

const VERBS: Partial<Record<FindingKind, string>> = {
  read: 'read',
  probe: 'probed',
  absent: 'missing',
  list: 'listed',
  write: 'written',
};

/** One finding by its kind and path; several by their numbers and their common folder. */
function describe(findings: readonly Finding[]): string {
  const [first, ...more] = findings;
  if (!first) return '';
  if (rankOf(first) === 'fix')
    return `${first.kind} ${textOf(first)}${more.length > 0 ? ` and ${more.length} more` : ''}${programsOf(findings)}`;
  if (first.path === undefined) return `${first.detail}${programsOf(findings)}`;
  if (more.length === 0) return `${nameOf(first)} ${VERBS[first.kind] ?? first.kind}${programsOf(findings)}`;
  const counts = split(findings, ({ kind }) => kind).map(
    (some) => `${some.length} ${some[0] ? (VERBS[some[0].kind] ?? some[0].kind) : ''}`,
  );
  const folder = commonFolder(findings.flatMap(({ path }) => path ?? []));
  const where = folder === '' ? `, such as ${nameOf(first)}` : ` in ${folder}`;
  return `${counts.join(', ')}${where}${programsOf(findings)}`;
}

/** What the findings are about: one path, or the number of paths and their common folder. */
export function subjectOf(findings: readonly Finding[]): { value: string; paths: number } {
  const paths = [...new Set(findings.flatMap(({ path }) => path ?? []))];
  const [first = '', ...more] = paths;
  if (more.length === 0) return { value: nameOf({ path: first }), paths: 1 };
  const folder = commonFolder(paths);
  return { value: `${paths.length} paths${folder === '' ? '' : ` in ${folder}`}`, paths: paths.length };
}

function textOf({ path, detail }: Finding): string {
  return [path, detail].filter((part) => part !== undefined).join(': ');
}

/** "." is the workspace's own folder. */
function nameOf({ path = '' }: Pick<Finding, 'path'>): string {
  return path === '.' ? 'the workspace' : path;
}

/** The programs that did it: one by its name, or the first of several. */
function programsOf(findings: readonly Finding[]): string {
  const names = new Set(findings.flatMap(({ process }) => process?.[0]?.split('/').at(-1) ?? []));
  const [first] = names;
  if (first === undefined) return '';
  return names.size === 1 ? ` (${first})` : ` (${first} and ${names.size - 1} more)`;
}

/** The deepest folder that holds all paths; "" if there is none, or if it is the workspace. */
function commonFolder(paths: readonly string[]): string {
  const [first = [], ...others] = paths.map((path) => path.split('/'));
  let length = Math.min(first.length, ...others.map((parts) => parts.length - 1));
  while (
    length > 0 &&
    others.some((parts) => parts.slice(0, length).join('/') !== first.slice(0, length).join('/'))
  )
    length--;
  return first.slice(0, length).join('/');
}
