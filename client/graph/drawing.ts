// A graph as Mermaid or DOT text. The HTML page is in page/.
import type { Step } from '../config/step.ts';
import type { Graph } from './graph.ts';

export const DRAWINGS = ['mermaid', 'dot', 'html'] as const;
type Drawing = (typeof DRAWINGS)[number];

export function draw({ order }: Graph, drawing: Exclude<Drawing, 'html'>): string {
  return drawing === 'mermaid' ? mermaid(order) : dot(order);
}

/** Each dependency between two drawn steps, as [dependency, dependent]. */
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
