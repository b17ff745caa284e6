// What a test of a fault has found, kept for docs/RELIABILITY.md (npm run reliability). A run of the tests
// leaves the committed figures alone: they are of one run on one machine, and say which.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FaultName } from './faults.ts';

/** In the order in which they are to be read: what was done, then what came of it. */
export type Figures = Readonly<Record<string, number | string>>;

export const KEPT_IN = join(import.meta.dirname, '../../dist/reliability');

export function keepFigures(fault: FaultName, figures: Figures): void {
  mkdirSync(KEPT_IN, { recursive: true });
  writeFileSync(join(KEPT_IN, `${fault}.json`), `${JSON.stringify(figures)}\n`);
  console.log(`${fault}:`, figures);
}
