// Prints docs/RELIABILITY.md from the faults that the tests are about (test/rig/faults.ts) and the figures that they kept.
// `npm run reliability` takes the figures of the last run of the tests over into docs/reliability.json and writes the page;
// a test holds the page to both.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FAULTS, type Fault, type FaultName } from '../test/rig/faults.ts';
import { type Figures, KEPT_IN } from '../test/rig/figures.ts';

const KEPT = join(import.meta.dirname, '../docs/reliability.json');

const INTRODUCTION = `# What happens when things go wrong

<!-- Written by scripts/reliability-page.ts from test/rig/faults.ts and docs/reliability.json: \`npm run reliability\`. -->

Each row is a test that does to a real server, client or store what is said under *fault*, and fails unless the promise holds.
The figures are what those tests counted on one machine (2 arm64 cores, shared with other work); every run of \`npm test\` counts
anew; times and memory are counted, not asserted to the last digit, and that machine was busy with much else. Where something is
drawn at random the seed stands there: \`ASSAY_TEST_SEED=N\` draws the same again.
`;

const LIMITS = `
## What is not promised

- A bit that flips in LMDB's own pages (not in what they hold) can make entries unreachable, which are misses, or the index
  unreadable: then the store is refused in words, or the process ends inside LMDB. Wrong bytes never pass.
- A disk that says it has synced and has not. Power-loss tests believe in syncs.
- A client that moves nothing is cut after 60 s, or after 5 s when the server is short of room ([decision 0231](decisions/0231-slow-clients-time-limits.md)). Until
  then one that reads nothing of a large answer holds 32 KiB, and 16 of them 1 MiB, or 2 if they had kept up for 8 MiB
  ([decision 0092](decisions/0092-bounded-memory-for-slow-readers.md)). One that dribbles holds its connection for as long as there is room.

## What is measured instead of asserted

A time says little on a machine that does other things too, so these are benchmarks; where nothing else is said, the figures are of one run on 2 arm64 cores.

| what | asked | measured |
|---|---|---|
| \`npm run bench -- start\`: opening a store of one million results and one million blobs, ten processes | 200 ms | 6.6 ms median, 17.6 most; the first hit 7.6 and 23.9 |
| \`npm run bench -- bombs\`: until a bomb is refused, by the clock of who sent it, 20 times each of five | 100 ms, +32 MiB; 10 s for the one that announces its true size | 8.9 and 23.7 ms median, 150 most; the one of 10 GiB that says so 2.1 s median, 5.0 most, after 256 MiB of it; +8 MiB most for one, +42 MiB when twenty of the largest have come one behind the other (beside a load of 13 on 2 arm64 cores; [decision 0230](decisions/0230-zstd-inflation-limits.md)) |
| \`npm run bench -- slow-sockets\`: what healthy clients in a process of their own wait while there are 2,000 slow sockets, 60 s, 99th percentile, and memory | +64 MiB; the time is only told | measured before slow clients were waited for a minute ([decision 0231](decisions/0231-slow-clients-time-limits.md)), so with more of them coming and going than now: when each is replaced as soon as it is cut, on 2 x86-64 cores with a busy host, five runs: 0.9 to 1.2 times the worse idle time (3.5 to 4.4 ms), and 1.0 to 1.2 times what they wait while the same crowd is at another server on the same machine; +49 to +51 MiB. Earlier, with a quiet host, six runs: 1.8 to 2.6 times (2.3 to 2.9 ms), before HTTP/2 connections were closed a few at a time. On 2 arm64 cores, still earlier, four runs: 1.4 to 1.9 times (3.6 to 4.2 ms) ([decision 0213](decisions/0213-copied-bytes-of-slow-clients.md)) |
| \`npm run bench -- large-store --entries=1000000\`: commands that look through a million blobs of 200 bytes and 100,000 results | 60 CPU-s each, memory that does not grow | on 2 quiet arm64 cores: verify 38 CPU-s, gc --dry-run 12, a gc of all of it 68 CPU-s in 143 s (not reached; 45 µs an entry at 300,000, 68 at a million); 124, 129 and 256 MiB of their own, 362, 363 and 594 MiB with what they map of the index |
| \`npm run bench -- soak\`: 30 minutes of mixed load on a store that is always full | memory flat, handles flat, 0 errors | 1,147,104 requests, 0 errors; 41 to 45 handles; 270 to 364 MiB, 6.9 % more in the second half than in the first (2 x86-64 cores, beside other work for most of the time): flat |
`;

export type KeptFigures = Partial<Record<FaultName, Figures>>;

export function keptFigures(): KeptFigures {
  return existsSync(KEPT) ? JSON.parse(readFileSync(KEPT, 'utf8')) : {};
}

export function reliabilityPage(kept: KeptFigures): string {
  const rows = faults().map(([name, { fault, promise, test }]) => {
    const figures = Object.entries(kept[name] ?? {}).map(([what, figure]) => `${what}: ${shown(figure)}`);
    return `| ${fault} | ${promise} | [${test.split('/').at(-1)}](../${test}) | ${figures.join('<br>')} |`;
  });
  return [INTRODUCTION, '| fault | promise | test | figures |', '|---|---|---|---|', ...rows, LIMITS].join(
    '\n',
  );
}

function faults(): [FaultName, Fault][] {
  const names: FaultName[] = [];
  for (const name in FAULTS) if (isFault(name)) names.push(name);
  return names.map((name) => [name, FAULTS[name]]);
}

function isFault(name: string): name is FaultName {
  return Object.hasOwn(FAULTS, name);
}

/** A seed is a name, not an amount. */
function shown(figure: number | string): string {
  return typeof figure === 'number' && figure < 10_000_000 ? figure.toLocaleString('en') : String(figure);
}

/** What the last run of the tests has kept takes the place of what was known. */
function update(): KeptFigures {
  const fresh = existsSync(KEPT_IN) ? readdirSync(KEPT_IN) : [];
  const kept: Record<string, Figures> = { ...keptFigures() };
  for (const file of fresh) {
    const name = file.replace(/\.json$/, '');
    if (isFault(name)) kept[name] = JSON.parse(readFileSync(join(KEPT_IN, file), 'utf8'));
  }
  writeFileSync(KEPT, `${JSON.stringify(kept, undefined, 2)}\n`);
  return kept;
}

if (import.meta.main) process.stdout.write(reliabilityPage(update()));
