// An audit as one self-contained HTML page: findings, variations, the process tree, files. No script and no
// other address. Folding and navigation are the browser's own, so they work by keyboard.

import { Html, html, NOTHING } from '../../core/html/html.ts';
import type { TracedProcess } from '../../hermeticity/trace/access.ts';
import { commandText, type Finding, fixText } from '../../hermeticity/verdict/finding.ts';
import { readable } from '../../system/paths/absolute-path.ts';
import { RANKS, type Rank } from '../trace/finding-rank.ts';
import type { Audit } from './audit.ts';
import { type TouchedFile, touchedFiles } from './files.ts';
import { KINDS } from './finding-kinds.ts';
import type { FindingGroup, GroupedAudit } from './groups.ts';
import { AUDIT_STYLE } from './page-style.ts';
import { auditHeadline, statusOf, TITLES } from './report.ts';
import type { AuditedCommand } from './sarif.ts';

/** The most rows of a table. */
const MOST_ROWS = 2000;

export function auditHtml(audit: GroupedAudit, { workspace, command }: AuditedCommand): string {
  const files = touchedFiles(audit.report, workspace);
  const status = statusOf(audit);
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${status}: ${commandText(command)}</title>
<style>${new Html(AUDIT_STYLE)}</style>
</head>
<body>
<header>
<p class="brand">assay audit</p>
<h1 class="${status}">${auditHeadline(audit)}</h1>
<pre class="command">${commandText(command)}</pre>
<p class="facts">in <code>${workspace}</code> · ended with ${audit.exitCode} · ${count(audit.report.processes.length, 'program')} · ${count(files.length, 'path')} · seen by ${audit.report.tracer.name} ${audit.report.tracer.version}</p>
${audit.gaps.map((gap) => html`<p class="gap">Not seen: ${gap}</p>`)}
<nav aria-label="Parts of this page">${navigation(audit)}</nav>
</header>
<main>
${findingsPart(audit)}
${variationsPart(audit)}
${processPart(audit)}
${filesPart(files)}
</main>
</body>
</html>
`.text;
}

function navigation(audit: Audit): Html {
  const varied = audit.reproduction ? html`<a href="#variations">Variations</a>` : NOTHING;
  return html`<a href="#findings">Findings</a>${varied}<a href="#processes">Processes</a><a href="#files">Files</a>`;
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

/* ---- findings ---- */

function findingsPart({ groups, findings }: GroupedAudit): Html {
  const parts = RANKS.flatMap((rank) => {
    const some = groups.filter((group) => group.rank === rank);
    return some.length === 0 ? [] : [rankPart(rank, some)];
  });
  const body = parts.length > 0 ? parts : [html`<p class="none">Nothing was found.</p>`];
  return html`<section id="findings"><h2>Findings <span class="number">${findings.length}</span></h2>${body}${flags(groups)}</section>`;
}

function rankPart(rank: Rank, groups: readonly FindingGroup[]): Html {
  const number = groups.reduce((sum, { findings }) => sum + findings.length, 0);
  return html`<section class="group ${rank}"><h3>${TITLES[rank]} <span class="number">${number}</span></h3>${MEANINGS[rank]}<ul class="findings">${groups.map(groupItem)}</ul></section>`;
}

const MEANINGS: Readonly<Record<Rank, Html>> = {
  fix: html`<p class="faint">The result is not kept: nothing that another run could compare stands for it.</p>`,
  left: html`<p class="faint">A hit does not restore these, so it needs them as the command left them.</p>`,
  advice: html`<p class="faint">They cost nothing but a longer check before a hit. Declared, they are part of the key, which then explains a miss.</p>`,
};

/** What must be fixed is shown open. */
function groupItem({ rank, what, remedy, fixes: declared, findings }: FindingGroup): Html {
  const { rows, left } = bounded(findings, findingRow);
  const mend =
    declared.length > 0
      ? html`<span class="mend">${declared.map((fix) => html`<code>${fixText(fix)}</code> `)}</span>`
      : html`<span class="${rank === 'fix' ? 'mend' : 'faint'}">${remedy}</span>`;
  const heading = html`<summary><span class="what">${what}</span> ${mend}</summary>`;
  const list = html`<ul class="findings">${rows}</ul>${left}`;
  return rank === 'fix'
    ? html`<li><details open>${heading}${list}</details></li>`
    : html`<li><details>${heading}${list}</details></li>`;
}

function findingRow({ kind, path, detail, process }: Finding): Html {
  const what = path === undefined ? NOTHING : html`<bdi class="path">${path}</bdi>`;
  const more = detail === undefined ? NOTHING : html`<p class="detail">${detail}</p>`;
  const who =
    process === undefined
      ? NOTHING
      : html`<p class="who">by <code>${shortened(commandText(process))}</code></p>`;
  return html`<li><p class="what"><span class="kind" title="${KINDS[kind].meaning}">${kind}</span> ${what}</p>${more}${who}</li>`;
}

function flags(groups: readonly FindingGroup[]): Html {
  const all = groups.flatMap(({ fixes }) => fixes.map(fixText));
  if (all.length === 0) return NOTHING;
  const lines = all.map(
    (flag, index) => html`${flag}${index < all.length - 1 ? ' \\' : ''}${new Html('\n')}`,
  );
  return html`<section class="group"><h3>Flags that would declare it</h3><pre tabindex="0">${lines}</pre></section>`;
}

/* ---- variations ---- */

function variationsPart({ reproduction }: Audit): Html {
  if (!reproduction) return NOTHING;
  const rows = reproduction.variations.map(
    ({ what, outcome, reason }) =>
      html`<tr><th scope="row">${what}</th><td class="${outcome === 'differs' ? 'bad' : ''}">${outcome}${reason === undefined ? '' : `: ${reason}`}</td></tr>`,
  );
  return html`<section id="variations"><h2>Variations <span class="number">${count(reproduction.runs, 'run')}</span></h2><table>${rows}</table></section>`;
}

/* ---- processes ---- */

function processPart({ report }: Audit): Html {
  const shown = report.processes.slice(0, MOST_ROWS);
  const children = new Map<number | undefined, number[]>();
  for (const [index, { parent }] of shown.entries()) {
    const known = children.get(parent);
    if (known) known.push(index);
    else children.set(parent, [index]);
  }
  const { left } = bounded(report.processes, () => NOTHING);
  return html`<section id="processes"><h2>Processes <span class="number">${report.processes.length}</span></h2>${tree(undefined, children, shown, 0)}${left}</section>`;
}

/** Deeper levels are shown as a list, because browsers limit nesting. */
const DEEPEST = 64;

function tree(
  parent: number | undefined,
  children: ReadonlyMap<number | undefined, readonly number[]>,
  processes: readonly TracedProcess[],
  depth: number,
): Html {
  const below = (depth < DEEPEST && children.get(parent)) || [];
  if (below.length === 0) return NOTHING;
  const items = below.map((index) => {
    const process = processes[index];
    return process === undefined ? NOTHING : node(process, tree(index, children, processes, depth + 1));
  });
  return html`<ul class="tree">${items}</ul>`;
}

function node(process: TracedProcess, below: Html): Html {
  const { argv, pid, atMs, survived } = process;
  const text = commandText(argv.map(readable));
  const end = survived ? html` <span class="kind">left behind</span>` : NOTHING;
  const line = html`<code>${shortened(text)}</code> <span class="faint">${pid} · ${Math.round(atMs)} ms</span>${end}`;
  const whole = text.length > MOST_SHOWN ? html`<pre class="argv">${text}</pre>` : NOTHING;
  if (below === NOTHING && whole === NOTHING) return html`<li>${line}</li>`;
  if (below === NOTHING) return html`<li><details><summary>${line}</summary>${whole}</details></li>`;
  const allArguments =
    whole === NOTHING
      ? NOTHING
      : html`<details><summary class="faint">all arguments</summary>${whole}</details>`;
  return html`<li><details open><summary>${line}</summary>${allArguments}${below}</details></li>`;
}

/** Longer command lines, such as a linker's, are folded. */
const MOST_SHOWN = 120;

function shortened(text: string): string {
  return text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN - 1)}…` : text;
}

/* ---- files ---- */

function filesPart(files: readonly TouchedFile[]): Html {
  const own = files.filter(({ isInWorkspace }) => isInWorkspace);
  const others = files.filter(({ isInWorkspace }) => !isInWorkspace);
  return html`<section id="files"><h2>Files <span class="number">${files.length}</span></h2>
<details open><summary>In the workspace <span class="number">${own.length}</span></summary>${fileTable(own)}</details>
<details><summary>Elsewhere: the system, tools, temporary files <span class="number">${others.length}</span></summary>${fileTable(others)}</details></section>`;
}

function fileTable(files: readonly TouchedFile[]): Html {
  const { rows, left } = bounded(
    files,
    ({ path, verbs }) =>
      html`<tr><th scope="row"><bdi class="path">${path}</bdi></th><td>${verbs.join(', ')}</td></tr>`,
  );
  return html`<table>${rows}</table>${left}`;
}

function bounded<T>(items: readonly T[], row: (item: T) => Html): { rows: Html[]; left: Html } {
  const over = items.length - MOST_ROWS;
  const left = over > 0 ? html`<p class="faint">and ${over} more, which --json tells</p>` : NOTHING;
  return { rows: items.slice(0, MOST_ROWS).map(row), left };
}
