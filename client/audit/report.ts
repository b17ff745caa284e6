// An audit as text for a terminal, and as one JSON object. The text is short: one line for each group of
// findings, the most urgent first. `--verbose` lists every finding.
import { wrapLine } from '../../core/cli/layout.ts';
import { type EvidenceStatus, proofOf } from '../../core/evidence.ts';
import { fixText } from '../../hermeticity/verdict/finding.ts';
import { byRank, RANKS, type Rank } from '../trace/finding-rank.ts';
import { findingJson, findingLine } from '../trace/finding-report.ts';
import { counted } from '../view/words.ts';
import type { Audit } from './audit.ts';
import type { FindingGroup, GroupedAudit } from './groups.ts';
import { variationLines } from './variations.ts';

export interface TextOptions {
  /** The width of the terminal; Infinity if the output is not one. */
  readonly columns: number;
  /** List every finding. */
  readonly isVerbose: boolean;
  /** The step that `--fix` could mend. */
  readonly fixable?: string;
}

export function auditJson(audit: GroupedAudit): string {
  return JSON.stringify(auditObject(audit));
}

export function auditObject(audit: GroupedAudit): Record<string, unknown> {
  const { hermetic, complete, gaps, exitCode, findings, groups, report, reproduction } = audit;
  return {
    hermetic,
    status: statusOf(audit),
    complete,
    exitCode,
    groups: groups.map(groupJson),
    findings: findings.map(findingJson),
    ...(audit.absent.length > 0 && { absent: audit.absent }),
    gaps,
    ...(audit.reliesOn.length > 0 && { reliesOn: audit.reliesOn }),
    tracer: report.tracer,
    ...(reproduction && { reproduction: { runs: reproduction.runs, variations: reproduction.variations } }),
  };
}

function groupJson({ rank, what, remedy, fixes, findings }: FindingGroup): Record<string, unknown> {
  return { rank, what, remedy, fixes: fixes.map(fixText), findings: findings.length };
}

/** The most lines of a report, with its heading and its last lines. */
const MOST_LINES = 10;
/** As wide as "  advice  ". */
const INDENT = 10;

const ADVICE =
  'Advice costs nothing but a longer check: each of these is compared before every hit. Declared, it is part of the key.';

export function auditText(audit: GroupedAudit, options: TextOptions): string {
  const variations = audit.reproduction ? ['', ...variationLines(audit.reproduction)] : [];
  const lines = options.isVerbose ? everything(audit) : summary(audit, options);
  return `${[...lines, ...variations].join('\n')}\n`;
}

function summary(audit: GroupedAudit, { columns, fixable }: TextOptions): string[] {
  const { gaps, groups } = audit;
  const wrap = (text: string) => wrapLine(text, columns, '').split('\n');
  const first = wrap(auditHeadline(audit));
  const last = groups.some(({ rank }) => rank === 'advice') ? wrap(ADVICE) : [];
  const canFix = fixable !== undefined && groups.some(({ fixes }) => fixes.length > 0);
  if (canFix) last.push(...wrap(`\`assay audit --fix ${fixable}\` declares what it can.`));
  const items = [
    ...gaps.map((gap) => item('fix', `not all of it was seen: ${gap}`, columns)),
    ...audit.reliesOn.map((folder) => item('fix', relianceText(folder), columns)),
    ...groups.map((group) => item(group.rank, sentence(group), columns)),
    ...(audit.absent.length > 0 ? [item('absent', absentText(audit.absent), columns)] : []),
  ];
  const room = MOST_LINES - first.length - last.length;
  return [...first, ...fitted(items, room), ...last];
}

/** As many items as there is room for. The last line then says how many there are more. */
function fitted(items: readonly (readonly string[])[], room: number): string[] {
  const all = items.flat();
  if (all.length <= room) return all;
  const lines: string[] = [];
  let shown = 0;
  for (const item of items) {
    if (lines.length + item.length >= room) break;
    lines.push(...item);
    shown++;
  }
  return [...lines, `  and ${counted(items.length - shown, 'more group')}: --verbose lists every finding`];
}

const ABSENT = 'looked for in the workspace, compared before every hit';

function absentText([first = '', ...more]: readonly string[]): string {
  return `${first}${more.length > 0 ? ` and ${more.length} more` : ''}: ${ABSENT}`;
}

function item(rank: Rank | 'absent', text: string, columns: number): string[] {
  const line = `${`  ${rank}`.padEnd(INDENT)}${text}`;
  return wrapLine(line, columns, ' '.repeat(INDENT)).split('\n');
}

/** How many flags a line names. */
const MOST_FLAGS = 3;

function sentence({ what, remedy, fixes }: FindingGroup): string {
  if (fixes.length === 0) return `${what}: ${remedy}`;
  const flags = fixes.slice(0, MOST_FLAGS).map(fixText).join(' ');
  const more = fixes.length > MOST_FLAGS ? ` and ${fixes.length - MOST_FLAGS} more` : '';
  return `${flags}${more}: ${what}`;
}

function everything({ findings, ...audit }: GroupedAudit): string[] {
  const lines = [
    auditHeadline({ ...audit, findings }),
    ...audit.gaps.map((gap) => `  not all of it was seen: ${gap}`),
    ...audit.reliesOn.map((folder) => `  ${relianceText(folder)}`),
  ];
  const ranked = byRank(findings);
  for (const rank of RANKS)
    if (ranked[rank].length > 0) lines.push('', `${TITLES[rank]}:`, ...ranked[rank].map(findingLine));
  if (audit.absent.length > 0)
    lines.push('', `Absent: ${ABSENT}:`, ...audit.absent.map((path) => `  ${path}`));
  const flags = audit.groups.flatMap(({ fixes }) => fixes.map(fixText));
  if (flags.length > 0) lines.push('', 'Flags that would declare it:', ...flags.map((flag) => `  ${flag}`));
  return lines;
}

/** Said by `assay init` too. */
export function relianceText(folder: string): string {
  return `it writes into ${folder}, which it does not make and a clean copy lacks: let it run mkdir -p ${folder} first`;
}

export const TITLES: Readonly<Record<Rank, string>> = {
  fix: 'Fix: no comparison can stand for it',
  left: 'Left in the workspace, named by no output',
  advice: 'Advice: compared before every hit',
};

/** The status that a run of this command would have. */
export function statusOf({ hermetic, complete, findings }: Audit): EvidenceStatus {
  if (hermetic) return 'declared';
  const isProven = findings.every(({ kind, path = '' }) => proofOf({ kind, path }) !== 'none');
  return complete && isProven ? 'observed' : 'unproven';
}

/** The verdict in one line. */
export function auditHeadline(audit: Audit): string {
  const { hermetic, complete, exitCode, findings } = audit;
  const outcome = exitCode === 0 ? '' : ` (the command ended with ${exitCode})`;
  if (hermetic) return `declared: nothing undeclared was seen${outcome}`;
  const { fix, left, advice } = byRank(findings);
  const parts = [
    fix.length > 0 && `${fix.length} to fix`,
    left.length > 0 && `${counted(left.length, 'path')} left undeclared`,
    advice.length > 0 && `${advice.length} proven ${advice.length === 1 ? 'access' : 'accesses'}`,
    !complete && 'an incomplete trace',
  ].filter((part) => part !== false);
  return `${statusOf(audit)}: ${parts.join(', ')}${outcome}`;
}
