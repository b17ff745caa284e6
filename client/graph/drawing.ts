// A graph as text for programs that draw: Mermaid, DOT, or a page that draws itself in a browser, offline.
import type { Step } from '../config/step.ts';
import type { Graph } from './graph.ts';

export const DRAWINGS = ['mermaid', 'dot', 'html'] as const;
export type Drawing = (typeof DRAWINGS)[number];

export function draw(graph: Graph, drawing: Drawing): string {
  if (drawing === 'mermaid') return mermaid(graph.order);
  return drawing === 'dot' ? dot(graph.order) : page(graph);
}

/** Every pair of a step and one that it depends on, of those that are drawn. */
function edges(order: readonly Step[]): [Step, Step][] {
  const byId = new Map(order.map((step) => [step.id, step]));
  return order.flatMap((step) =>
    step.dependsOn.flatMap((id): [Step, Step][] => {
      const before = byId.get(id);
      return before ? [[before, step]] : [];
    }),
  );
}

function mermaid(order: readonly Step[]): string {
  const names = new Map(order.map(({ id }, at) => [id, `s${at}`]));
  const nodes = order.map(({ id }) => `  ${names.get(id)}["${id.replaceAll('"', '#quot;')}"]`);
  const lines = edges(order).map(([from, to]) => `  ${names.get(from.id)} --> ${names.get(to.id)}`);
  return `${['flowchart LR', ...nodes, ...lines].join('\n')}\n`;
}

function dot(order: readonly Step[]): string {
  const lines = edges(order).map(([from, to]) => `  ${JSON.stringify(from.id)} -> ${JSON.stringify(to.id)};`);
  const nodes = order.map(({ id }) => `  ${JSON.stringify(id)};`);
  return `${['digraph steps {', '  rankdir=LR;', '  node [shape=box];', ...nodes, ...lines, '}'].join('\n')}\n`;
}

const COLUMN = 260;
const ROW = 44;
const BOX = { width: 200, height: 30 };

/** Each step in the column after the last one that it depends on. */
function page({ order, wanted }: Graph): string {
  const columns = new Map<string, number>();
  const rows = new Map<number, number>();
  const places = new Map<string, { x: number; y: number }>();
  for (const { id, dependsOn } of order) {
    const column = Math.max(-1, ...dependsOn.map((one) => columns.get(one) ?? -1)) + 1;
    const row = rows.get(column) ?? 0;
    columns.set(id, column);
    rows.set(column, row + 1);
    places.set(id, { x: 20 + column * COLUMN, y: 20 + row * ROW });
  }
  const place = (id: string) => places.get(id) ?? { x: 0, y: 0 };
  const arrows = edges(order).map(([from, to]) => {
    const [a, b] = [place(from.id), place(to.id)];
    const [x1, y1, x2, y2] = [a.x + BOX.width, a.y + BOX.height / 2, b.x, b.y + BOX.height / 2];
    return `<path data-from="${escaped(from.id)}" data-to="${escaped(to.id)}" d="M${x1} ${y1} C${x1 + 40} ${y1} ${x2 - 40} ${y2} ${x2} ${y2}"/>`;
  });
  const boxes = order.map((step) => box(step, place(step.id), wanted.has(step.id)));
  const width = 20 + (Math.max(0, ...columns.values()) + 1) * COLUMN;
  const height = 20 + Math.max(1, ...rows.values()) * ROW;
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Steps</title>
<style>${STYLE}</style>
<svg width="${width}" height="${height}" xmlns="http://www.w3.org/2000/svg">
${arrows.join('\n')}
${boxes.join('\n')}
</svg>
<script>${SCRIPT}</script>
</html>
`;
}

function box({ id, command, outputs }: Step, { x, y }: { x: number; y: number }, wanted: boolean): string {
  const label = id.length > 28 ? `…${id.slice(-27)}` : id;
  const title = [id, command.join(' '), ...outputs.map((output) => `makes ${output}`)].join('\n');
  return `<g data-id="${escaped(id)}"${wanted ? ' class="wanted"' : ''}><title>${escaped(title)}</title><rect x="${x}" y="${y}" width="${BOX.width}" height="${BOX.height}" rx="4"/><text x="${x + 8}" y="${y + 20}">${escaped(label)}</text></g>`;
}

const STYLE = `
body { font: 13px system-ui, sans-serif; margin: 0; background: Canvas; color: CanvasText; }
rect { fill: Canvas; stroke: GrayText; } .wanted rect { stroke: CanvasText; stroke-width: 2; }
text { fill: CanvasText; } path { fill: none; stroke: GrayText; opacity: .5; }
.near rect { stroke: #2a7; } path.near { stroke: #2a7; opacity: 1; stroke-width: 2; }
g { cursor: pointer; }`;

const SCRIPT = `
for (const box of document.querySelectorAll('g[data-id]')) box.onmouseenter = () => {
  for (const old of document.querySelectorAll('.near')) old.classList.remove('near');
  box.classList.add('near');
  for (const arrow of document.querySelectorAll('path')) {
    const { from, to } = arrow.dataset;
    if (from !== box.dataset.id && to !== box.dataset.id) continue;
    arrow.classList.add('near');
    for (const other of document.querySelectorAll('g[data-id]'))
      if (other.dataset.id === from || other.dataset.id === to) other.classList.add('near');
  }
};`;

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
