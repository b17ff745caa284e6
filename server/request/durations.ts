// Durations as a Prometheus histogram with one label. prom-client's own histogram searches its buckets and builds
// a string of labels for each observation, which costs too much for each request.
import { bucketOf, emptyLatency, LATENCY_BOUNDS } from './latency.ts';

interface Histogram {
  readonly buckets: number[];
  sumMs: number;
}

export class Durations {
  readonly #name: string;
  readonly #help: string;
  readonly #label: string;
  readonly #histograms = new Map<string, Histogram>();

  constructor(name: string, help: string, label: string) {
    this.#name = name;
    this.#help = help;
    this.#label = label;
  }

  /** `value`: of the label, one of a bounded number. */
  add(value: string, tookMs: number): void {
    let histogram = this.#histograms.get(value);
    if (!histogram) {
      histogram = { buckets: emptyLatency(), sumMs: 0 };
      this.#histograms.set(value, histogram);
    }
    const bucket = bucketOf(tookMs);
    histogram.buckets[bucket] = (histogram.buckets[bucket] ?? 0) + 1;
    histogram.sumMs += tookMs;
  }

  /** In Prometheus' text format. */
  text(): string {
    const lines = [
      `# HELP ${this.#name} ${this.#help}`,
      `# TYPE ${this.#name} histogram`,
      ...[...this.#histograms].flatMap(([value, histogram]) => this.#linesOf(value, histogram)),
    ];
    return `${lines.join('\n')}\n`;
  }

  #linesOf(value: string, { buckets, sumMs }: Histogram): string[] {
    const label = `${this.#label}="${value}"`;
    let count = 0;
    const cumulative = buckets.map((own, at) => {
      count += own;
      const bound = LATENCY_BOUNDS[at];
      const le = bound === undefined ? '+Inf' : String(bound / 1000);
      return `${this.#name}_bucket{${label},le="${le}"} ${count}`;
    });
    return [
      ...cumulative,
      `${this.#name}_sum{${label}} ${sumMs / 1000}`,
      `${this.#name}_count{${label}} ${count}`,
    ];
  }
}
