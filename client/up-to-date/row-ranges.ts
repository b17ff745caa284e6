// The rows of a stat table that belong to one step, as ranges: start, count, start, count …
// Rows that were added one after the other, as those of one step mostly are, take two numbers.
import { type StatRow, sameRow } from '../files/stat-table.ts';

export type RowRanges = readonly number[];

/** Adds the missing rows to `all`. Undefined, and nothing added, if `all` has another row for a name (G5). */
export function packRows(
  wanted: ReadonlyMap<string, StatRow>,
  all: Map<string, StatRow>,
): RowRanges | undefined {
  for (const [name, row] of wanted) {
    const present = all.get(name);
    if (present && !sameRow(present, row)) return undefined;
  }
  const positions: number[] = [];
  for (const [name, row] of wanted) {
    if (!all.has(name)) {
      positionsOf(all).set(name, all.size);
      all.set(name, row);
    }
    positions.push(positionsOf(all).get(name) ?? 0);
  }
  return rangesOf(positions.sort((a, b) => a - b));
}

export function rowsIn(ranges: RowRanges): number[] {
  const rows: number[] = [];
  for (let at = 0; at < ranges.length; at += 2) {
    const [start = 0, count = 0] = [ranges[at], ranges[at + 1]];
    for (let row = start; row < start + count; row++) rows.push(row);
  }
  return rows;
}

const allPositions = new WeakMap<Map<string, StatRow>, Map<string, number>>();

function positionsOf(all: Map<string, StatRow>): Map<string, number> {
  const positions = allPositions.get(all) ?? new Map<string, number>();
  allPositions.set(all, positions);
  return positions;
}

function rangesOf(sorted: readonly number[]): number[] {
  const ranges: number[] = [];
  for (const position of sorted) {
    const last = ranges.length - 2;
    const end = (ranges[last] ?? 0) + (ranges[last + 1] ?? 0);
    if (last >= 0 && end === position) ranges[last + 1] = (ranges[last + 1] ?? 0) + 1;
    else ranges.push(position, 1);
  }
  return ranges;
}
