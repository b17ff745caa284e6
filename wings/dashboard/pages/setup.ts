// Set up: for each tool what to write, with this server's address, and a light that says whether it works.
import { type Html, html, NOTHING } from '../../../core/html/html.ts';
import { counted } from '../../../core/text/amounts.ts';
import { TOOLS } from '../../../server/request/tools.ts';
import type { Setup, ToolSetup } from '../api/schemas/setup.ts';
import { ago } from './format.ts';
import { copyable } from './parts.ts';

const TEAM = /^[0-9A-Za-z_.-]{1,100}$/;

/** `team` replaces TEAM, if it can be one part of a namespace. */
export function setupPage(setup: Setup, team: string | undefined, now: number): Html {
  const shown = team !== undefined && TEAM.test(team) ? team : 'TEAM';
  const connected = setup.tools.filter(({ lastRequestAt }) => lastRequestAt !== undefined);
  const token = setup.needsToken
    ? html` Write a token of this server for <code>TOKEN</code>: it decides what may be written.`
    : html` This server needs no token.`;
  return html`<h1>Set up a tool</h1>
<p class="lead">This server is <code>${setup.address}</code>. Copy what your tool needs, build something, and watch its light turn green.${token}</p>
<form class="filters" method="get" action="/setup">
<label>Team<input name="team" value="${shown === 'TEAM' ? '' : shown}" placeholder="TEAM" maxlength="100" pattern="[0-9A-Za-z_.\\-]+"></label>
<button type="submit">Fill in</button>
<p class="note">Any name. Each team has keys of its own.</p>
</form>
<p id="connected" aria-live="polite">${summary(connected, setup.tools)}</p>
<div class="cards" data-lights>${setup.tools.map((tool, index) => card(tool, index, shown, now))}</div>`;
}

function summary(connected: readonly ToolSetup[], all: readonly ToolSetup[]): string {
  if (connected.length === 0) return 'No tool has asked this server yet.';
  const names = connected.map(({ name }) => name).join('; ');
  const withLight = all.filter(({ countsAs }) => countsAs === undefined);
  return `${connected.length} of ${withLight.length} have asked this server: ${names}.`;
}

function card(tool: ToolSetup, index: number, team: string, now: number): Html {
  const { name, snippet } = tool;
  const where = TOOLS.find((one) => one.name === name)?.setup?.where;
  const id = `tool-${index}`;
  return html`<article class="card" aria-labelledby="${id}">
<div class="card-head"><h2 id="${id}">${name}</h2>${light(tool, now)}</div>
<p class="note">${where === undefined ? NOTHING : html`Write this ${where}.`}</p>
${copyable(snippet.replace(/\bTEAM\b/g, team), `the setting for ${name}`)}
</article>`;
}

function light({ name, lastRequestAt, lookupsToday, countsAs }: ToolSetup, now: number): Html {
  if (countsAs !== undefined) return html`<span class="note">Counts as ${countsAs}</span>`;
  if (lastRequestAt === undefined)
    return html`<span class="light" data-tool="${name}">Waiting for the first request</span>`;
  return html`<span class="light on" data-tool="${name}">Connected: ${counted(lookupsToday, 'lookup')} today, the last ${ago(lastRequestAt, now)}</span>`;
}
