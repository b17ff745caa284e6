// The server of this version compared with that of another checkout, request by request: CPU time of the
// server processes, all threads and the kernel's work included, in turns. ASSAY_BENCH_OTHER names the checkout,
// which has its own packages (`git worktree add`, `npm ci`). Without it the second server is of this version
// too, which shows the noise. Arguments select rows by a part of their name.
import { mkdtempSync, rmSync } from 'node:fs';
import { arch, cpus, release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { VERSION } from '../core/version.ts';
import { type Contestant, startAssay, startAssayOf } from './server/contestants.ts';
import { median, table } from './server/table.ts';
import { runInTurns, type Side, sideOf } from './server/turns.ts';

const ROUNDS = 5;

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'assay-bench-versions-'));
  const other = process.env.ASSAY_BENCH_OTHER;
  const loaders: { stop(): Promise<void> }[] = [];
  const running: Contestant[] = [];
  const side = async (contestant: Promise<Contestant>): Promise<Side> => {
    const server = await contestant;
    running.push(server);
    return sideOf(server, loaders);
  };
  try {
    console.log(surroundings());
    const otherFolder = join(folder, 'other');
    const sides = [
      await side(other ? startAssayOf(other, otherFolder) : startAssay(otherFolder)),
      await side(startAssay(join(folder, 'this'))),
    ];
    for (let round = 0; round <= ROUNDS; round++) await runInTurns(sides, round > 0);
    console.log(table([['', 'other', 'this', 'this / other', 'spread'], ...linesOf(sides)]));
  } finally {
    for (const loader of loaders) await loader.stop();
    for (const server of running) await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function linesOf([other, own]: readonly Side[]): string[][] {
  return (own?.rows ?? []).map(({ name }, index) => {
    const [theirs, ours] = [other?.costs[index] ?? [], own?.costs[index] ?? []];
    const ratios = ours.map((cost, round) => cost / (theirs[round] ?? Number.NaN));
    const spread = `${Math.min(...ratios).toFixed(2)}-${Math.max(...ratios).toFixed(2)}`;
    const [before, now] = [median(theirs), median(ours)];
    return [name, before.toFixed(3), now.toFixed(3), median(ratios).toFixed(2), spread];
  });
}

function surroundings(): string {
  const [first] = cpus();
  const machine = `${cpus().length} x ${first?.model ?? 'unknown'}, ${arch()}, Linux ${release()}`;
  return `assay ${VERSION}, node ${process.version}; ${machine}; medians of ${ROUNDS} rounds, in turns\n`;
}

await main();
