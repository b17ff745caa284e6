// Storage and trust: what fills the store, what leaves it, and who writes to it.
import { type Html, html, NOTHING } from '../../../core/html/html.ts';
import { bytes, count, counted } from '../../../core/text/amounts.ts';
import type { AccountRow, NamespaceRow, Storage, TokenRow, UsageRow } from '../api/schemas/storage.ts';
import { ago, duration, percent } from './format.ts';
import { badge, bar, callout, empty, section, table, tile, tiles } from './parts.ts';

export function storagePage(storage: Storage, now: number): Html {
  const { teams, tools, namespaces, deniedWrites, tokens, nodes, countedAt } = storage;
  const isEmpty = namespaces.length === 0 && teams.length === 0;
  const counts =
    countedAt === undefined
      ? NOTHING
      : html`<p class="note">Counted ${ago(countedAt, now)}: results with the files that they name. The store also has its index, the runs, and files that no result names.</p>`;
  const nothing = countedAt === undefined ? notCounted() : nothingStored();
  return html`<h1>Storage and trust</h1>
<p class="lead">What fills this cache, what leaves it, and who may write to it.</p>
${expiring(tokens)}
${space(storage)}
${shares(storage.accounts)}
${isEmpty ? nothing : html`${usage('What fills it, by team', 'Team', teams)}${usage('What fills it, by tool', 'Tool', tools)}${writers(namespaces, now)}${counts}`}
${denied(deniedWrites, now)}
${tokenTable(tokens, now)}
${nodes.length === 0 ? NOTHING : nodeTable(nodes, now)}`;
}

function expiring(tokens: readonly TokenRow[]): Html {
  const soon = tokens.filter(({ expiresSoon }) => expiresSoon);
  if (soon.length === 0) return NOTHING;
  const names = soon.map(({ name }) => name).join(', ');
  return callout(
    'warn',
    html`<p><strong>${counted(soon.length, 'token')} will end soon:</strong> ${names}.</p><p>Make a new one with <code>assay token create</code> and put it where the old one is used. Builds without a token run without the cache.</p>`,
  );
}

function space({ store }: Storage): Html {
  if (!store) return NOTHING;
  const { usedBytes, limitBytes, evictedBytes, evictedUnusedMs } = store;
  const share = limitBytes === undefined ? undefined : usedBytes / limitBytes;
  const used =
    share === undefined || limitBytes === undefined
      ? html`without a limit`
      : html`${percent(share)} of ${bytes(limitBytes)}${bar([{ share, tone: 'hit' }])}`;
  return tiles(
    tile('In the store', bytes(usedBytes), used),
    tile(
      'Removed since this node’s start',
      bytes(evictedBytes),
      evictedBytes === 0
        ? 'There was room for everything.'
        : 'What was unused for longest went first. If builds miss it, give the store more with --max-size.',
    ),
    evictedUnusedMs === undefined
      ? NOTHING
      : tile('Age of what goes out', duration(evictedUnusedMs), 'since its last use'),
  );
}

function shares(rows: readonly AccountRow[]): Html {
  if (rows.length === 0) return NOTHING;
  const sizeOf = (size: number | undefined) => html`${size === undefined ? '–' : bytes(size)}`;
  return section(
    'Shares of the store',
    table(
      'Shares of the store',
      [
        { title: 'Namespace' },
        { title: 'Of its quota' },
        { title: 'Holds', isNumber: true },
        { title: 'Quota', isNumber: true },
        { title: 'Floor', isNumber: true, isWide: true },
      ],
      rows.map((row) => [
        html`${row.name}`,
        row.quotaBytes ? bar([{ share: row.bytes / row.quotaBytes, tone: 'hit' }]) : NOTHING,
        html`${bytes(row.bytes)}`,
        sizeOf(row.quotaBytes),
        sizeOf(row.floorBytes),
      ]),
    ),
  );
}

function notCounted(): Html {
  return empty(
    'The store is being counted',
    html`<p>This server reads all of its results once, to see what fills it. <a href="/storage">Look again</a> in a moment.</p>`,
  );
}

function nothingStored(): Html {
  return empty(
    'Nothing is stored yet',
    html`<p>When a tool has written its first result, this page shows which team and which tool fill the cache. <a href="/setup">Set up a tool</a>.</p>`,
  );
}

function usage(title: string, column: string, rows: readonly UsageRow[]): Html {
  if (rows.length === 0) return NOTHING;
  const total = rows.reduce((sum, row) => sum + row.bytes, 0);
  return section(
    title,
    table(
      title,
      [
        { title: column },
        { title: 'Share' },
        { title: 'Results', isNumber: true, isWide: true },
        { title: 'Size', isNumber: true },
      ],
      rows.map((row) => [
        html`${row.name === '' ? 'no team' : row.name}`,
        bar([{ share: total === 0 ? 0 : row.bytes / total, tone: 'hit' }]),
        html`${count(row.results)}`,
        html`${bytes(row.bytes)}`,
      ]),
    ),
  );
}

function writers(rows: readonly NamespaceRow[], now: number): Html {
  return section(
    'Who writes where',
    table(
      'Who writes where',
      [
        { title: 'Namespace' },
        { title: 'Written by' },
        { title: 'Results', isNumber: true, isWide: true },
        { title: 'Last write', isNumber: true },
      ],
      rows.map((row) => [
        html`<code>${row.namespace === '' ? '(default)' : row.namespace}</code>${row.grouped === undefined ? NOTHING : html` <span class="faint">${counted(row.grouped, 'pull request')}</span>`}`,
        html`${row.writers.length === 0 ? 'nobody lately' : row.writers.join(', ')}`,
        html`${count(row.results)}`,
        row.lastWriteAt === undefined ? html`–` : ago(row.lastWriteAt, now),
      ]),
    ),
  );
}

function denied(rows: Storage['deniedWrites'], now: number): Html {
  if (rows.length === 0)
    return section('Denied writes', html`<p class="faint">Nobody tried to write what they may not.</p>`);
  return section(
    'Denied writes',
    html`<p class="faint">A denied write fails no build. If one of these should be allowed, its token needs other rights.</p>${table(
      'Denied writes',
      [
        { title: 'Token' },
        { title: 'Tool' },
        { title: 'Why' },
        { title: 'Times', isNumber: true },
        { title: 'Last', isNumber: true },
      ],
      alike(rows).map(({ row, times }) => [
        html`${row.identity}`,
        html`${row.tool}`,
        html`${row.why}`,
        html`${count(times)}`,
        ago(row.at, now),
      ]),
    )}`,
  );
}

/** A build repeats a denied write for each of its results. The newest of each kind, and how many there are. */
function alike(rows: Storage['deniedWrites']): { row: Storage['deniedWrites'][number]; times: number }[] {
  const kindOf = ({ identity, tool }: Storage['deniedWrites'][number]) => `${identity}\0${tool}`;
  return [...Map.groupBy(rows, kindOf).values()].flatMap((same) => {
    const [row] = same.toSorted((a, b) => b.at.localeCompare(a.at));
    return row ? { row, times: same.length } : [];
  });
}

function tokenTable(rows: readonly TokenRow[], now: number): Html {
  if (rows.length === 0) return NOTHING;
  return section(
    'Tokens',
    table(
      'Tokens',
      [
        { title: 'Name' },
        { title: 'Namespace' },
        { title: 'Rights', isWide: true },
        { title: 'Ends', isNumber: true },
      ],
      rows.map((row) => [
        html`${row.name}`,
        html`<code>${row.namespace === '' ? 'the whole server' : row.namespace}</code>`,
        html`${row.rights.join(', ')}`,
        row.expiresAt === undefined
          ? html`never`
          : html`${row.expiresSoon ? badge('warn', 'soon') : NOTHING} ${ago(row.expiresAt, now)}`,
      ]),
    ),
  );
}

function nodeTable(rows: Storage['nodes'], now: number): Html {
  return section(
    'Nodes',
    table(
      'Nodes',
      [{ title: 'Name' }, { title: 'Last seen', isNumber: true }],
      rows.map((row) => [
        html`${row.name} ${row.isThisOne ? badge('plain', 'this one') : NOTHING}`,
        ago(row.lastSeenAt, now),
      ]),
    ),
  );
}
