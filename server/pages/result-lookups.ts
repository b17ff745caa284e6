// Hits and misses of results by tool and namespace, as metrics. Anybody may make up a namespace on an open
// server, so only the first DASHBOARD.maxNamespaceLabels of them have a label; the rest is "other".
import { DASHBOARD } from '../limits.ts';
import type { Cell, CounterCells } from './counter-cells.ts';

interface Outcomes {
  readonly hits: Cell;
  readonly misses: Cell;
}

const REST = 'other';

export class ResultLookups {
  readonly #counter: CounterCells;
  readonly #namespaces = new Map<string, Map<string, Outcomes>>();

  constructor(counter: CounterCells) {
    this.#counter = counter;
  }

  add(tool: string, namespace: string, found: boolean): void {
    const tools = this.#namespaces.get(namespace) ?? this.#begin(namespace);
    let outcomes = tools.get(tool);
    if (!outcomes) {
      const label = this.#namespaces.has(namespace) ? namespace : REST;
      outcomes = {
        hits: this.#counter.cell(tool, label, 'hit'),
        misses: this.#counter.cell(tool, label, 'miss'),
      };
      tools.set(tool, outcomes);
    }
    (found ? outcomes.hits : outcomes.misses).value++;
  }

  #begin(namespace: string): Map<string, Outcomes> {
    const isFull = this.#namespaces.size >= DASHBOARD.maxNamespaceLabels;
    const name = isFull ? REST : namespace;
    const known = this.#namespaces.get(name) ?? new Map<string, Outcomes>();
    this.#namespaces.set(name, known);
    return known;
  }
}
