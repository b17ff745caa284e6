// Draws the two pictures of docs/ARCHITECTURE.md from the code: the rooms of the trunk, and the wings with their ports
// (`npm run generate`). A room is drawn on the rooms that it may import, and its folders in the order of their floors,
// which tests hold. So a picture that is drawn is true.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ORDER, ROOMS } from '../test/project/order.ts';
import { ROOT } from '../test/project/sources.ts';
import { indexesOfWings } from './wings-list.ts';

interface Box {
  readonly room: string;
  readonly purpose: string;
  readonly x: number;
  readonly width: number;
  readonly color: string;
}

const WIDTH = 960;
const EDGE = 16;
const GAP = 8;
const LINE = 18;
const CHARACTER = 6.6;

/** From the top to the bottom. A room stands on each room below it that has a part of its width. */
const STOREYS: readonly (readonly Box[])[] = [
  [box('bin', 'starts the command that was asked for; wings.ts names the wings', 0, 1, '#e8e4f3')],
  [
    box('client', 'one action from key to result; graphs; remotes', 0, 0.62, '#dbeafe'),
    box('server', 'the store on the network', 0.62, 0.38, '#dcfce7'),
  ],
  [
    box('hermeticity', 'what a command does, from outside', 0, 0.4, '#fef3c7'),
    box('store', 'results and blobs that are whole', 0.4, 0.6, '#fee2e2'),
  ],
  [
    box(
      'system',
      'paths, /proc, files that are replaced as a whole, locks between processes',
      0,
      1,
      '#e2e8f0',
    ),
  ],
  [box('core', 'digests, keys, messages, errors: no I/O and no clock', 0, 1, '#f1f5f9')],
];

function box(room: string, purpose: string, from: number, share: number, color: string): Box {
  const all = WIDTH - 2 * EDGE + GAP;
  return { room, purpose, x: EDGE + from * all, width: share * all - GAP, color };
}

export function trunkPicture(): string {
  const parts: string[] = [];
  let y = EDGE;
  for (const storey of STOREYS) {
    const rows = storey.map((one) => ({ one, lines: floorsOf(one) }));
    const height = 46 + LINE * Math.max(...rows.map(({ lines }) => lines.length));
    for (const { one, lines } of rows) {
      parts.push(rectangle(one.x, y, one.width, height, one.color));
      parts.push(text(one.x + 12, y + 22, `${one.room}/`, 15, '600'));
      const beside = one.x + 24 + 9 * (one.room.length + 1);
      parts.push(text(beside, y + 22, one.purpose, 12, '400', '#475569'));
      parts.push(...lines.map((line, row) => text(one.x + 12, y + 44 + LINE * row, line, 12, 'mono')));
    }
    y += height + GAP;
  }
  for (const [room, allowed] of Object.entries(ROOMS)) {
    const below = ['wings', ...roomsBelow(room)];
    const wrong = allowed.filter((other) => !below.includes(other));
    if (wrong.length > 0) throw new Error(`${room}/ may import ${wrong.join(', ')}, and is not drawn on it`);
  }
  const title = 'The rooms of the trunk: each may import only rooms that it stands on';
  return picture(title, y - GAP + EDGE, parts);
}

/** One line for each floor that has folders, the topmost first. */
function floorsOf({ room, width }: Box): string[] {
  const most = Math.floor((width - 24) / 7.3);
  const floors = (ORDER[room] ?? []).map((line) => line.split(/ +/).filter(isShown));
  return floors
    .toReversed()
    .filter((names) => names.length > 0)
    .flatMap((names) => wrapped(joined(names), most));
}

/** Folders that people write. A loose file is no folder. */
function isShown(name: string): boolean {
  return !name.endsWith('.ts') && !name.startsWith('proto/generated/');
}

/** `protocols/a  protocols/b` is `protocols/{a b}`. */
function joined(names: readonly string[]): string[] {
  const byParent = Map.groupBy(names, (name) =>
    name.includes('/') ? name.slice(0, name.lastIndexOf('/')) : '',
  );
  return [...byParent].flatMap(([parent, all]) => {
    if (parent === '' || all.length === 1) return all;
    const [first = '', ...others] = all.map((name) => name.slice(parent.length + 1));
    const last = others.pop() ?? '';
    return [`${parent}/{${first}`, ...others, `${last}}`];
  });
}

function wrapped(words: readonly string[], most: number): string[] {
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 2 + word.length <= most)
      lines[lines.length - 1] = `${last}  ${word}`;
    else lines.push(lines.length === 0 ? word : `    ${word}`);
  }
  return lines;
}

function roomsBelow(room: string): string[] {
  const at = STOREYS.findIndex((storey) => storey.some((one) => one.room === room));
  const own = STOREYS[at]?.find((one) => one.room === room);
  const next = STOREYS[at + 1] ?? [];
  if (!own) return [];
  const under = next.filter((one) => one.x < own.x + own.width && own.x < one.x + one.width);
  return [...new Set(under.flatMap((one) => [one.room, ...roomsBelow(one.room)]))];
}

const PORTS = ['CommandModule', 'StepHook', 'Library', 'Engine', 'Issuers', 'Server'] as const;
const PORT_FILES = [
  'core/cli',
  'client/run',
  'client/library',
  'server/commands',
  'server/config',
  'server',
] as const;
const FIRST_PORT = 484;
const PORT_WIDTH = 86;
const ROW = 34;

export async function wingsPicture(): Promise<string> {
  const wings = await indexesOfWings();
  const bottom = EDGE + ROW * wings.length + 20;
  const rows = wings.map(({ name, wing, stepHook, library }, row) => {
    const fills = [
      Object.keys(wing.commands).length > 0,
      stepHook !== undefined,
      library !== undefined,
      'openStore' in wing,
      'openIssuers' in wing,
      'server' in wing,
    ];
    const y = EDGE + ROW * row;
    const dots = fills.flatMap((isFilled, port) => {
      const x = FIRST_PORT + PORT_WIDTH * port;
      if (!isFilled) return [];
      const at = `cx="${x}" cy="${y + ROW / 2}" r="6" fill="#4338ca"`;
      return [line(x, y + ROW / 2, bottom), `<circle ${at}/>`];
    });
    const commands = Object.keys(wing.commands).join(', ');
    return [
      rectangle(EDGE, y + 2, WIDTH - 2 * EDGE, ROW - 6, '#eef2ff'),
      text(EDGE + 12, y + 21, `wings/${name}/`, 13, '600'),
      text(EDGE + 180, y + 21, commands === '' ? '' : `assay ${commands}`, 11, 'mono', '#475569'),
      ...dots,
    ];
  });
  const sockets = PORTS.flatMap((port, index) => {
    const x = FIRST_PORT + PORT_WIDTH * index;
    return [
      rectangle(x - PORT_WIDTH / 2 + 3, bottom, PORT_WIDTH - 6, 44, '#c7d2fe'),
      centred(x, bottom + 19, port, 10, '600'),
      centred(x, bottom + 36, PORT_FILES[index] ?? '', 10, '400'),
    ];
  });
  const trunk = [
    rectangle(EDGE, bottom + 44, WIDTH - 2 * EDGE, 40, '#dbeafe'),
    text(
      EDGE + 12,
      bottom + 69,
      'the trunk: bin, client, server, store, hermeticity, system, core',
      13,
      '600',
    ),
    text(EDGE + 12, bottom + 26, 'the ports of the trunk, and where they are', 12, '400', '#475569'),
  ];
  const boxes = rows.map(([one = '']) => one);
  const rest = rows.flatMap(([, ...others]) => others);
  const lines = rest.filter((part) => part.startsWith('<line'));
  const others = rest.filter((part) => !part.startsWith('<line'));
  const title = 'The wings, and the ports of the trunk that each of them fills';
  return picture(title, bottom + 84 + EDGE, [...boxes, ...lines, ...others, ...sockets, ...trunk]);
}

function picture(title: string, height: number, parts: readonly string[]): string {
  const size = `width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img" font-family="system-ui,sans-serif">`,
    `<title>${title}</title>`,
    `<rect width="${WIDTH}" height="${height}" rx="8" fill="#ffffff"/>`,
    ...parts,
    '</svg>\n',
  ].join('\n');
}

function rectangle(x: number, y: number, width: number, height: number, color: string): string {
  const at = `x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}"`;
  return `<rect ${at} rx="6" fill="${color}" stroke="#94a3b8"/>`;
}

function line(x: number, from: number, to: number): string {
  return `<line x1="${x}" y1="${from}" x2="${x}" y2="${to}" stroke="#4338ca" stroke-width="2"/>`;
}

function text(
  x: number,
  y: number,
  content: string,
  size: number,
  weight: string,
  color = '#0f172a',
): string {
  const isMono = weight === 'mono';
  const font = isMono ? 'font-family="ui-monospace,Menlo,Consolas,monospace"' : `font-weight="${weight}"`;
  const length =
    isMono && content !== '' ? ` textLength="${round((content.length * CHARACTER * size) / 11)}"` : '';
  const at = `x="${round(x)}" y="${round(y)}" font-size="${size}" fill="${color}"`;
  return `<text ${at} ${font}${length} xml:space="preserve">${content}</text>`;
}

function centred(x: number, y: number, content: string, size: number, weight: string): string {
  return text(x, y, content, size, weight).replace('<text', '<text text-anchor="middle"');
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

if (import.meta.main) {
  writeFileSync(join(ROOT, 'docs/images/trunk.svg'), trunkPicture());
  writeFileSync(join(ROOT, 'docs/images/wings.svg'), await wingsPicture());
}
