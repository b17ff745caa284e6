// Hits and misses of results by tool and namespace, as metrics. Anybody may make up a namespace on an open
// server, so only the first ACCOUNTING.maxNamespaceLabels of them have a label; the rest is "(other)".
import { isInRange, type Namespace, type NamespaceRange } from '../../core/namespace.ts';
import { ACCOUNTING } from '../limits.ts';
import type { Cell, CounterCells } from './counter-cells.ts';

interface Outcomes {
  readonly hits: Cell;
  readonly misses: Cell;
}

type ByTool = Map<string, Outcomes>;

/** No namespace has this name. */
const REST = '(other)';

export class ResultLookups {
  readonly #counter: CounterCells;
  readonly #namespaces = new Map<Namespace, ByTool>();
  readonly #rest: ByTool = new Map();

  constructor(counter: CounterCells) {
    this.#counter = counter;
  }

  add(tool: string, namespace: Namespace, found: boolean): void {
    const tools = this.#namespaces.get(namespace) ?? this.#begin(namespace);
    let outcomes = tools.get(tool);
    if (!outcomes) {
      const label = tools === this.#rest ? REST : namespace;
      outcomes = {
        hits: this.#counter.cell(tool, label, 'hit'),
        misses: this.#counter.cell(tool, label, 'miss'),
      };
      tools.set(tool, outcomes);
    }
    (found ? outcomes.hits : outcomes.misses).value++;
  }

  /** Of some namespaces, in Prometheus' text format. */
  text(name: string, range: NamespaceRange): string {
    const lines = [...this.#namespaces].flatMap(([namespace, tools]) =>
      isInRange(namespace, range) ? linesOf(name, namespace, tools) : [],
    );
    return [`# TYPE ${name} counter`, ...lines, ''].join('\n');
  }

  #begin(namespace: Namespace): ByTool {
    if (this.#namespaces.size >= ACCOUNTING.maxNamespaceLabels) return this.#rest;
    const tools: ByTool = new Map();
    this.#namespaces.set(namespace, tools);
    return tools;
  }
}

/** Names of tools and namespaces have no character that the format quotes. */
function linesOf(name: string, namespace: Namespace, tools: ByTool): string[] {
  const line = (tool: string, outcome: string, { value }: Cell) =>
    `${name}{tool="${tool}",namespace="${namespace}",outcome="${outcome}"} ${value}`;
  return [...tools].flatMap(([tool, { hits, misses }]) => [
    line(tool, 'hit', hits),
    line(tool, 'miss', misses),
  ]);
}
