// The durations of requests as a Prometheus histogram, by route of HTTP and method of gRPC: from the head of a
// request until its response begins. prom-client's own histogram searches its buckets and builds a string of
// labels for each observation, which costs too much for each request.
import { bucketOf, emptyLatency, LATENCY_BOUNDS } from '../activity/latency.ts';

const NAME = 'assay_request_duration_seconds';

interface Histogram {
  readonly buckets: number[];
  sumMs: number;
}

export class Durations {
  readonly #histograms = new Map<string, Histogram>();

  /** `route` is one of a bounded number. */
  add(route: string, tookMs: number): void {
    let histogram = this.#histograms.get(route);
    if (!histogram) {
      histogram = { buckets: emptyLatency(), sumMs: 0 };
      this.#histograms.set(route, histogram);
    }
    const bucket = bucketOf(tookMs);
    histogram.buckets[bucket] = (histogram.buckets[bucket] ?? 0) + 1;
    histogram.sumMs += tookMs;
  }

  /** In Prometheus' text format. */
  text(): string {
    const lines = [
      `# HELP ${NAME} Time until the response of a request begins, by route of HTTP and method of gRPC.`,
      `# TYPE ${NAME} histogram`,
      ...[...this.#histograms].flatMap(([route, histogram]) => linesOf(route, histogram)),
    ];
    return `${lines.join('\n')}\n`;
  }
}

function linesOf(route: string, { buckets, sumMs }: Histogram): string[] {
  let count = 0;
  const cumulative = buckets.map((own, at) => {
    count += own;
    const bound = LATENCY_BOUNDS[at];
    const le = bound === undefined ? '+Inf' : String(bound / 1000);
    return `${NAME}_bucket{route="${route}",le="${le}"} ${count}`;
  });
  return [
    ...cumulative,
    `${NAME}_sum{route="${route}"} ${sumMs / 1000}`,
    `${NAME}_count{route="${route}"} ${count}`,
  ];
}
