// Action: the command, its inputs as a tree, its facts, outputs, log and receipt, and how it differs from another.
import { type Html, html, multiline, NOTHING } from '../../../core/html/html.ts';
import { bytes, counted } from '../../../core/text/amounts.ts';
import { plainLog } from '../../../core/text/plain-log.ts';
import type { Action, ActionDifference, ActionResultDetails, FileRow } from '../api/schemas/action.ts';
import type { LogText } from '../api/schemas/parts.ts';
import { divergenceCard } from './divergence.ts';
import { fileTree } from './file-tree.ts';
import { absolute, ago, duration, short } from './format.ts';
import { badge, callout, copyable, joined, link, section, table, tile, tiles, webLink } from './parts.ts';
import { causeWord, protocolWord, statusWord, stepOutcome } from './words.ts';

/** With another action: how it differs, or why that is not known. */
export interface Comparison {
  readonly to: string;
  readonly found?: ActionDifference;
  readonly failure?: string;
}

export function actionPage(action: Action, comparison: Comparison | undefined, now: number): Html {
  const { key, command, result, inputs, moreInputs } = action;
  return html`<p class="faint">Action <code>${key}</code></p>
<h1>${commandLine(command)}</h1>
<p class="lead">${place(action)}</p>
${result?.divergence ? section('Two results for one key', html`<div class="card">${divergenceCard(result.divergence, now)}</div>`, 'divergence') : NOTHING}
${result ? figures(result, now) : callout('warn', html`<p>The server has this action without a result: it failed, was not kept, or was removed to make room.</p>`)}
${compare(action, comparison)}
${section('Command', copyable(shellLine(command), 'the command'))}
${section(`Inputs: ${counted(inputs.length + moreInputs, 'file')}`, html`${fileTree(inputs)}${moreNote(moreInputs)}`)}
${section('Declared', declared(action))}
${result ? details(result, now) : NOTHING}
${runs(action, now)}`;
}

/** Without a result, it is in no namespace. */
function place({ namespace, workingDirectory, result }: Action): Html {
  const within =
    namespace === '' ? html`in the default namespace` : html`in the namespace <code>${namespace}</code>`;
  const folder = html`in the folder <code>${workingDirectory}</code>`;
  return joined([...(result ? [within] : []), ...(workingDirectory === '' ? [] : [folder])], html`, `);
}

/** As one types it: an argument with more than plain characters stands in quotes. */
function shellLine(command: readonly string[]): string {
  return command
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(' ');
}

const SHOWN_COMMAND = 120;

function commandLine(command: readonly string[]): string {
  const whole = shellLine(command);
  return whole.length <= SHOWN_COMMAND ? whole : `${whole.slice(0, SHOWN_COMMAND)}…`;
}

function figures(
  { exitCode, commandMs, outputs, moreOutputs, writer, status }: ActionResultDetails,
  now: number,
): Html {
  const size = outputs.reduce((sum, { size: one = 0 }) => sum + one, 0);
  return tiles(
    tile(
      'Exit code',
      String(exitCode),
      commandMs === undefined ? NOTHING : html`after ${duration(commandMs)}`,
    ),
    tile('Outputs', bytes(size), counted(outputs.length + moreOutputs, 'file')),
    tile('Status', statusWord(status)),
    tile(
      'Written by',
      writer ? writer.name : 'unknown',
      writer
        ? html`${ago(writer.at, now)}, ${protocolWord(writer.protocol)}`
        : 'it was written before the server kept that',
    ),
  );
}

function moreNote(more: number): Html {
  return more === 0 ? NOTHING : html`<p class="note">and ${counted(more, 'file')} more</p>`;
}

function compare({ key, others }: Action, comparison: Comparison | undefined): Html {
  const options = others.map(
    ({ key: other, step, at }) =>
      html`<option value="${other}">${step}, ${at.slice(0, 16).replace('T', ' ')}, ${other.slice(0, 12)}</option>`,
  );
  const form = html`<form class="filters" method="get" action="/action/${key}">
<label>Another key<input name="to" list="others" value="${comparison?.to ?? ''}" required pattern="[0-9a-f]{64}" placeholder="64 hex digits" size="40"></label>
<datalist id="others">${options}</datalist>
<button type="submit">Compare</button>
</form>`;
  return section(
    'Compare with another action',
    html`${earlier(key, others, comparison)}${form}${comparison ? outcome(comparison) : NOTHING}`,
    'compare',
  );
}

const SHOWN_OTHERS = 5;

/** As links: one click, and it works where a browser shows no list of choices. */
function earlier(key: string, others: Action['others'], comparison: Comparison | undefined): Html {
  if (others.length === 0) return NOTHING;
  const links = others.slice(0, SHOWN_OTHERS).map(({ key: other, step, at }) => {
    const text = html`${step}, ${absolute(Date.parse(at))}`;
    return other === comparison?.to
      ? html`<strong>${text}</strong>`
      : link(`/action/${key}?to=${other}#compare`, text);
  });
  return html`<ul class="plain-list tight">${links.map((one) => html`<li>${one}</li>`)}</ul>`;
}

function outcome({ found, failure }: Comparison): Html {
  if (found) return differences(found);
  return callout('warn', html`<p>${failure}</p>`);
}

function differences({ to, differences: all }: ActionDifference): Html {
  if (all.length === 0) return html`<p>It does not differ from ${short(to)}.</p>`;
  return html`<p>In comparison with ${link(`/action/${to}`, short(to))}:</p><ul class="plain-list">${all.map(({ text, cause }) => html`<li>${causeWord(cause)} ${text}</li>`)}</ul>`;
}

function declared({ variables, platform, tools, declaredOutputs }: Action): Html {
  const pairs = (list: readonly { name: string; value: string }[]) =>
    list.map(({ name, value }) => html`<div><code>${name}</code> ${shortIfHash(value)}</div>`);
  const none = html`<span class="faint">none</span>`;
  return html`<dl class="facts">
<dt>Outputs</dt><dd>${declaredOutputs.length === 0 ? none : html`<code>${declaredOutputs.join(', ')}</code>`}</dd>
<dt>Variables</dt><dd>${variables.length === 0 ? none : html`<code>${variables.join(', ')}</code> <span class="faint">(values are not kept)</span>`}</dd>
<dt>Tools</dt><dd>${tools.length === 0 ? none : pairs(tools)}</dd>
<dt>Platform</dt><dd>${platform.length === 0 ? none : pairs(platform)}</dd>
</dl>`;
}

function shortIfHash(value: string): Html {
  return /^[0-9a-f]{64}$/.test(value) ? short(value) : html`${value}`;
}

function details(result: ActionResultDetails, now: number): Html {
  const { outputs, moreOutputs, facts, findings, stdout, stderr } = result;
  return html`${section('Outputs', html`${outputTable(outputs)}${moreNote(moreOutputs)}`)}
${findings.length === 0 ? NOTHING : section('Findings', html`<ul class="plain-list">${findings.map(({ kind, path, detail }) => html`<li>${badge('warn', kind)} <code>${path}</code> <span class="note">${detail}</span></li>`)}</ul>`)}
${section('Log', html`${log('Standard output', stdout)}${log('Standard error', stderr)}`)}
${facts.length === 0 ? NOTHING : section('Compared before every hit', factList(facts))}
${section('Receipt', receipt(result, now))}`;
}

function outputTable(outputs: readonly FileRow[]): Html {
  if (outputs.length === 0) return html`<p class="faint">It made no outputs.</p>`;
  return table(
    'Outputs',
    [{ title: 'Path' }, { title: 'SHA-256', isWide: true }, { title: 'Size', isNumber: true }],
    outputs.map(({ path, hash, size, target }) => [
      html`<code>${path}</code>${target === undefined ? NOTHING : html` → <code>${target}</code>`}`,
      hash === undefined ? html`–` : short(hash, 16),
      html`${size === undefined ? '–' : bytes(size)}`,
    ]),
  );
}

/** A command of a shell has dozens: the files of the C library. */
const OPEN_FACTS = 8;

function factList(facts: ActionResultDetails['facts']): Html {
  if (facts.length <= OPEN_FACTS) return factTable(facts);
  return html`<details><summary>${counted(facts.length, 'fact')} about files and the machine</summary>${factTable(facts)}</details>`;
}

/** The reasons are a column only if there are any. */
function factTable(facts: ActionResultDetails['facts']): Html {
  const hasReasons = facts.some(({ why }) => why !== '');
  return table(
    'Facts that are compared before every hit',
    [{ title: 'What' }, { title: 'State' }, ...(hasReasons ? [{ title: 'Why', isWide: true }] : [])],
    facts.map(({ what, state, why }) => [html`<code>${what}</code>`, stateOf(state), html`${why}`]),
  );
}

/** "file SHA-256", with the beginning of the digest. */
function stateOf(state: string): Html {
  const [, kind, hash] = /^([a-z]+) ([0-9a-f]{64})$/.exec(state) ?? [];
  return hash === undefined ? html`${state}` : html`${kind} ${short(hash)}`;
}

function log(name: string, { bytes: size, text, isCut }: LogText): Html {
  if (size === 0) return html`<p class="faint">${name}: empty.</p>`;
  if (text === undefined)
    return html`<p class="faint">${name}: ${bytes(size)}, which this server does not have.</p>`;
  const cut = isCut ? html`<p class="note">The end of ${bytes(size)}.</p>` : NOTHING;
  return html`<h3>${name}</h3>${cut}<pre class="log" tabindex="0" aria-label="${name}">${multiline(plainLog(text))}</pre>`;
}

function receipt({ receipt: { at, where, commit, assay } }: ActionResultDetails, now: number): Html {
  const rows: readonly (readonly [string, Html | string | undefined])[] = [
    ['Made', at === undefined ? undefined : ago(at, now)],
    ['On', where === undefined ? undefined : webLink(where, where)],
    ['Commit', commit === undefined ? undefined : short(commit)],
    ['By Assay', assay],
  ];
  return html`<dl class="facts">${rows.flatMap(([name, value]) => (value === undefined ? [] : html`<dt>${name}</dt><dd>${value}</dd>`))}</dl>`;
}

function runs({ runs: all }: Action, now: number): Html {
  if (all.length === 0) return NOTHING;
  return section(
    'Runs with this action',
    table(
      'Runs with this action',
      [{ title: 'Step' }, { title: 'Outcome' }, { title: 'When', isNumber: true }],
      all.map(({ run, step, at, outcome }) => [
        link(`/runs/${encodeURIComponent(run)}`, step),
        stepOutcome(outcome),
        ago(at, now),
      ]),
    ),
  );
}
