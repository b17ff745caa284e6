// Asks several servers the same requests in turns, and keeps the CPU time that each cost. The arguments of the
// benchmark select rows by a part of their name.
import type { Contestant } from './contestants.ts';
import { cpuSecondsOf } from './process.ts';
import { type Row, rowsOf } from './rows.ts';

export interface Side {
  readonly server: Contestant;
  readonly rows: readonly Row[];
  /** Of each row, one for each counted round. */
  readonly costs: number[][];
}

/** Fills the server. What has to be stopped in the end is added to `running`. */
export async function sideOf(server: Contestant, running: { stop(): Promise<void> }[]): Promise<Side> {
  const rows = (await rowsOf(server, running)).filter(isAskedFor);
  return { server, rows, costs: rows.map(() => []) };
}

function isAskedFor({ name }: Row): boolean {
  const asked = process.argv.slice(2);
  return asked.length === 0 || asked.some((part) => name.includes(part));
}

/** The first round warms up, and is not counted. */
export async function runInTurns(sides: readonly Side[], isCounted: boolean): Promise<void> {
  for (let index = 0; index < (sides[0]?.rows.length ?? 0); index++) {
    for (const { server, rows, costs } of sides) {
      const row = rows[index];
      if (!row) continue;
      const before = cpuSecondsOf(server.pids);
      await row.run();
      if (isCounted) costs[index]?.push((cpuSecondsOf(server.pids) - before) / row.units);
    }
  }
}
