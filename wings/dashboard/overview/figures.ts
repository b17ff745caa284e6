// Figures over time and their totals, from the counters that the server keeps.

import type { NamespaceRange } from '../../../core/namespace.ts';
import { MINUTE } from '../../../core/units.ts';
import type { ServerContext } from '../../../server/context.ts';
import { HISTORY_DOCUMENTS } from '../../../server/limits.ts';
import { quantile } from '../../../server/request/latency.ts';
import type { History } from '../../../store/history.ts';
import type { Counters } from '../activity/counters.ts';
import { HOUR } from '../activity/figures.ts';
import { activityOf } from '../activity/of-server.ts';
import type { Figures, LeaseTotals, Totals } from '../api/schemas/now.ts';

export const DAY = 24 * HOUR;

interface Span {
  readonly from: number;
  readonly to: number;
}

/** What a reader sees. */
interface Counted {
  readonly counted: NamespaceRange;
  /** The whole server, with what is not counted by namespace. */
  readonly isWhole: boolean;
}

/** `isWhole`: the reader sees the whole server; bytes are not counted by namespace. */
export function totalsOf(counters: readonly Counters[], isWhole: boolean): Totals {
  const sum = (read: (one: Counters) => number) => counters.reduce((total, one) => total + read(one), 0);
  const hits = sum((one) => one.hits);
  const misses = sum((one) => one.misses);
  const leases: LeaseTotals = {
    granted: sum((one) => one.leases.granted),
    waited: sum((one) => one.leases.waited),
    hedged: sum((one) => one.leases.hedged),
    expired: sum((one) => one.leases.expired),
    savedMs: sum((one) => one.leases.savedMs),
  };
  return {
    hits,
    misses,
    ...(hits + misses > 0 && { hitRate: hits / (hits + misses) }),
    savedMs: sum((one) => one.savedMs),
    runs: sum((one) => one.runs),
    ...(isWhole && { bytesReceived: sum((one) => one.received), bytesSent: sum((one) => one.sent) }),
    requests: sum((one) => one.requests),
    errors: sum((one) => one.errors),
    ...(leases.granted + leases.waited + leases.hedged > 0 && { leases }),
  };
}

/** Minutes for three hours, ten minutes for a day, hours for more and for what is older than a day. */
export async function figuresIn(
  server: ServerContext,
  history: History,
  { counted, isWhole }: Counted,
  { from, to }: Span,
): Promise<Figures> {
  const hasMinutes = to - from <= DAY && from >= Date.now() - HISTORY_DOCUMENTS.minutesKeptMs;
  const stepMs = !hasMinutes ? HOUR : to - from <= 3 * HOUR ? MINUTE : 10 * MINUTE;
  const first = Math.floor(from / stepMs) * stepMs;
  const counters = await activityOf(server).figures.read(history, counted, { from, to, stepMs });
  const points = counters.map((one, at) => {
    const median = quantile(one.latency, 0.5);
    const p99 = quantile(one.latency, 0.99);
    return {
      at: new Date(first + at * stepMs).toISOString(),
      ...totalsOf([one], isWhole),
      ...(median !== undefined && { medianMs: median }),
      ...(p99 !== undefined && { p99Ms: p99 }),
    };
  });
  return { stepMs, points };
}
