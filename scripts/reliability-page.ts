// Prints docs/RELIABILITY.md from the faults that the tests inject (test/rig/faults.ts) and the figures that
// they record. `npm run reliability` copies the figures of the last test run to docs/reliability.json and
// writes the page. A test compares the page with both.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FAULTS, type Fault, type FaultName } from '../test/rig/faults.ts';
import { type Figures, KEPT_IN } from '../test/rig/figures.ts';

const KEPT = join(import.meta.dirname, '../docs/reliability.json');

const INTRODUCTION = `# What happens when things go wrong

<!-- Written by scripts/reliability-page.ts from test/rig/faults.ts and docs/reliability.json: \`npm run reliability\`. -->

Each row is one test. It injects the *fault* into a real server, client or store, and fails unless the *guarantee* holds. The figures are counts of one
run on 2 arm64 cores, which other work shared. Every run of \`npm test\` counts again. Tests assert limits for times and memory, not the
exact figures. A test that draws at random prints its seed; \`ASSAY_TEST_SEED=N\` repeats the same draws.
`;

const LIMITS = `
## What is not guaranteed

- A bit that flips in LMDB's own page structure can make entries unreachable, which then are misses. It can also make the index unreadable. Then
  Assay refuses the store with an error, or the process ends inside LMDB. Wrong bytes are never served.
- A process that is stopped (SIGSTOP, Ctrl-Z) while it commits makes the commits of all others wait until it goes on or is killed. One that is stopped
  while it reads makes the index file grow, within the bounds of [0455](decisions/0455-readers-that-pin-pages.md).
- A disk that reports a sync which it did not do. The power-loss tests trust syncs.
- The server cuts a client that moves nothing for 60 s, or for 5 s under pressure ([0231](decisions/0231-slow-clients-time-limits.md)). Until then, a client
  that reads nothing of a large response holds 32 KiB. Up to 16 of them hold 1 MiB each, or 2 MiB if they had read 8 MiB before
  ([0092](decisions/0092-bounded-memory-for-slow-readers.md)). A client that sends a few bytes now and then keeps its connection while there is no pressure.

## What is measured instead of asserted

Times vary on a machine that does other work, so these are benchmarks. Unless the row says otherwise, the figures are of one run on 2 arm64 cores.

| benchmark | target | measured |
|---|---|---|
| \`npm run bench -- growth\`: the start of a server until it listens, and a hit of a client, on stores of 10,000 and 3,000,000 results | the same on both | 2 x86-64 cores: 2.7 and 1.2 s; 70 and 72 ms ([0396](MEASUREMENTS.md#0396)) |
| \`npm run bench -- bombs\`: time until a decompression bomb is refused, measured by the sender, 20 times each of five bombs | 100 ms, +32 MiB; 10 s for the bomb that announces its true size | medians of 8.9 and 23.7 ms, 150 ms maximum. The bomb that announces 10 GiB: 2.1 s median, 5.0 s maximum, after 256 MiB of output. At most +8 MiB for one bomb, +42 MiB for twenty of the largest in a row (load of 13; [0230](decisions/0230-zstd-inflation-limits.md)) |
| \`npm run bench -- slow-sockets\`: 99th percentile of healthy clients, and memory, with 2,000 slow sockets for 60 s | +64 MiB; no target for the time | Measured before the limit of 60 s ([0231](decisions/0231-slow-clients-time-limits.md)), so with more reconnections than now. 2 x86-64 cores, busy host, five runs, slow clients reconnect: 0.9 to 1.2 times the worse idle time (3.5 to 4.4 ms); 1.0 to 1.2 times the time with the same slow clients at another server of the machine; +49 to +51 MiB. Quiet host, six earlier runs: 1.8 to 2.6 times (2.3 to 2.9 ms). 2 arm64 cores, four earlier runs: 1.4 to 1.9 times (3.6 to 4.2 ms) ([0213](decisions/0213-copied-bytes-of-slow-clients.md)) |
| \`npm run bench -- large-store --entries=1000000\`: commands that read a million blobs of 200 bytes and 100,000 results | 60 CPU-s each, memory that does not grow | 2 quiet arm64 cores: verify 38 CPU-s; gc --dry-run 12 CPU-s; a gc of everything 68 CPU-s in 143 s, above the target (45 µs an entry at 300,000 entries, 68 µs at a million). Own memory 124, 129 and 256 MiB; with the mapped index 362, 363 and 594 MiB |
| \`npm run bench -- soak\`: 30 minutes of mixed load on a store that is always full | constant memory and handles, 0 errors | 1,147,104 requests, 0 errors; 41 to 45 handles; 270 to 364 MiB, 6.9 % more in the second half than in the first (2 x86-64 cores, beside other work for most of the time) |
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
  return [INTRODUCTION, '| fault | guarantee | test | figures |', '|---|---|---|---|', ...rows, LIMITS].join(
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

/** Figures of the last test run replace earlier ones. */
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
