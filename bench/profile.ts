// `npm run bench -- profile [--other CHECKOUT] [--rows NAME,NAME…]`: where the CPU time goes, by parts, in this version
// and in another checkout, which has its own packages. NAME is a part of a row of `bench -- versions`, or `cold` for
// a watched graph of 300 steps without any cache. Needs perf (Debian's linux-perf). Nothing else should run.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { profileCold } from './profile/cold.ts';
import { PARTS, type Profile, sharesOf } from './profile/parts.ts';
import { NODE_OPTIONS, samplesIn, sampleWhile } from './profile/samples.ts';
import { type Contestant, PROJECT, startAssayOf } from './server/contestants.ts';
import { cpuSecondsOf } from './server/process.ts';
import { type Row, rowsOf } from './server/rows.ts';
import { table } from './server/table.ts';

const WARM_UPS = 3;
const ROUNDS = 8;

const { values } = parseArgs({
  options: { other: { type: 'string' }, rows: { type: 'string', default: 'cold,PUT 4 KiB,/ac hit' } },
});
const asked = values.rows.split(',');
const versions = [
  ...(values.other === undefined ? [] : [{ name: 'other', project: values.other }]),
  { name: 'this', project: PROJECT },
];

interface Side {
  readonly server: Contestant;
  readonly rows: readonly Row[];
}

const folder = mkdtempSync(join(tmpdir(), 'assay-bench-profile-'));
try {
  if (asked.includes('cold'))
    report(
      'cold graph, a step',
      versions.map(({ name, project }) => profileCold(project, join(folder, `cold-${name}`))),
    );
  await profileRequests();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function profileRequests(): Promise<void> {
  const running: { stop(): Promise<void> }[] = [];
  try {
    const sides: Side[] = [];
    for (const { name, project } of versions) {
      const server = await startAssayOf(project, join(folder, name), NODE_OPTIONS);
      running.push(server);
      const rows = (await rowsOf(server, running)).filter((row) =>
        asked.some((part) => row.name.includes(part)),
      );
      sides.push({ server, rows });
    }
    for (const [index, { name }] of sides[0]?.rows.entries() ?? []) {
      const profiles: Profile[] = [];
      for (const side of sides) profiles.push(await profileOf(side, index));
      report(name, profiles);
    }
  } finally {
    for (const one of running.reverse()) await one.stop();
  }
}

async function profileOf({ server, rows }: Side, index: number): Promise<Profile> {
  const row = rows[index];
  if (!row) throw new Error('the versions have different rows');
  for (let round = 0; round < WARM_UPS; round++) await row.run();
  const file = join(folder, 'samples');
  let seconds = 0;
  await sampleWhile(server.pids, file, async () => {
    const before = cpuSecondsOf(server.pids);
    for (let round = 0; round < ROUNDS; round++) await row.run();
    seconds = cpuSecondsOf(server.pids) - before;
  });
  return { cpuMs: seconds / (ROUNDS * row.units), shares: sharesOf(samplesIn(file)) };
}

function report(name: string, profiles: readonly Profile[]): void {
  const parts = [...new Set([...PARTS, ...profiles.flatMap(({ shares }) => [...shares.keys()])])];
  const lines = parts.flatMap((part) => {
    if (profiles.every(({ shares }) => (shares.get(part) ?? 0) < 0.05)) return [];
    const cells = profiles.map(({ cpuMs, shares }) => {
      const share = shares.get(part) ?? 0;
      return `${(cpuMs * share * 10).toFixed(1)} (${share.toFixed(1)} %)`;
    });
    return [[part, ...cells]];
  });
  const all = ['all', ...profiles.map(({ cpuMs }) => (cpuMs * 1000).toFixed(0))];
  const heading = [`${name.replace(/, CPU-.*/, '')}, CPU-µs`, ...versions.map((version) => version.name)];
  console.log(`${table([heading, all, ...lines])}\n`);
}
