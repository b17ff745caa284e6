// A Prometheus counter whose requests increment plain numbers. A scrape copies them to prom-client.
import { Counter, type Registry } from 'prom-client';

export interface Cell {
  value: number;
}

/** A Prometheus counter with a plain number for each combination of labels. Callers increment it. */
export class CounterCells {
  readonly #cells = new Map<string, { readonly labels: readonly string[]; readonly cell: Cell }>();

  constructor(registry: Registry, name: string, help: string, labelNames: readonly string[]) {
    const cells = this.#cells;
    new Counter({
      name,
      help,
      labelNames: [...labelNames],
      registers: [registry],
      collect() {
        this.reset();
        for (const { labels, cell } of cells.values()) {
          if (labels.length === 0) this.inc(cell.value);
          else if (cell.value > 0) this.labels(...labels).inc(cell.value);
        }
      },
    });
  }

  cell(...labels: readonly string[]): Cell {
    const name = labels.join();
    const known = this.#cells.get(name);
    if (known) return known.cell;
    const cell = { value: 0 };
    this.#cells.set(name, { labels, cell });
    return cell;
  }
}
