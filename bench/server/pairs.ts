// Compares two servers on fresh pairs of them. Two processes of one version differ by more than a few percent, so
// one pair says little about a small difference (docs/decisions/0350). Each pair is measured in turns.
import type { Contestant } from './contestants.ts';
import { cpuSecondsOf } from './process.ts';
import { median } from './table.ts';

export const PAIRS = 5;
const ROUNDS = 3;

export interface Measure {
  readonly name: string;
  run(): Promise<unknown>;
}

/** A server, and what is measured on it. Both sides of a pair have the same measures. */
export interface Side {
  readonly server: Contestant;
  readonly measures: readonly Measure[];
}

/** Starts one side, and adds each process that it has started to `running`. */
export type Start = (running: { stop(): Promise<void> }[]) => Promise<Side>;

export interface Compared {
  readonly name: string;
  /** CPU-s of a run: medians over all pairs. */
  readonly first: number;
  readonly second: number;
  /** Second by first, one for each pair. */
  readonly ratios: readonly number[];
}

export async function comparePairs(first: Start, second: Start): Promise<Compared[]> {
  const pairs: Compared[][] = [];
  for (let pair = 0; pair < PAIRS; pair++) {
    const running: { stop(): Promise<void> }[] = [];
    try {
      pairs.push(await compare([await first(running), await second(running)]));
    } finally {
      for (const one of running) await one.stop();
    }
  }
  return sameRows(pairs);
}

/** The medians of the same rows, each measured several times. */
export function sameRows(pairs: readonly (readonly Compared[])[]): Compared[] {
  return (pairs[0] ?? []).map(({ name }, row) => {
    const rows = pairs.flatMap((pair) => pair[row] ?? []);
    return {
      name,
      first: median(rows.map(({ first }) => first)),
      second: median(rows.map(({ second }) => second)),
      ratios: rows.flatMap(({ ratios }) => ratios),
    };
  });
}

/** The first round warms up. */
async function compare(sides: readonly [Side, Side]): Promise<Compared[]> {
  const costs = sides.map(({ measures }) => measures.map((): number[] => []));
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [row] of sides[0].measures.entries()) {
      for (const [side, { server, measures }] of sides.entries()) {
        const before = cpuSecondsOf(server.pids);
        await measures[row]?.run();
        if (round > 0) costs[side]?.[row]?.push(cpuSecondsOf(server.pids) - before);
      }
    }
  }
  return sides[0].measures.map(({ name }, row) => {
    const [first, second] = [median(costs[0]?.[row] ?? []), median(costs[1]?.[row] ?? [])];
    return { name, first, second, ratios: [second / first] };
  });
}

/** The cells of a table: both costs, the median of the ratios, and all of them. */
export function cellsOf({ name, first, second, ratios }: Compared): string[] {
  return [
    name,
    first.toFixed(2),
    second.toFixed(2),
    median(ratios).toFixed(3),
    ratios.map((ratio) => ratio.toFixed(2)).join(' '),
  ];
}
