// A fleet compared with an embedded store, bare PostgreSQL and bare S3, in turns within one run, on loopback.
// It uses the fleet of ASSAY_INDEX and the other variables (scripts/fleet-up.sh), or starts one for itself, and takes
// a database and a prefix of its own there. Prints which targets were reached, and fails only if it could not measure.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { arch, cpus, release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { VERSION } from '../../../core/version.ts';
import { compareCpu } from './fleet/cpu.ts';
import { compareInline } from './fleet/inline.ts';
import { compareLargeRead } from './fleet/large-read.ts';
import { compareLatency } from './fleet/latency.ts';
import { openServices } from './fleet/services.ts';

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'assay-bench-fleet-'));
  const services = await openServices(folder);
  try {
    console.log(surroundings());
    for (const compare of [compareLatency, compareLargeRead, compareCpu, compareInline])
      console.log(`${await compare(services, folder)}\n`);
  } finally {
    await services.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function surroundings(): string {
  const version = (...command: readonly [string, ...string[]]) =>
    execFileSync(command[0], command.slice(1), { encoding: 'utf8' }).trim();
  return [
    `assay ${VERSION}, node ${process.version}, ${version('psql', '--version')}, ${version('radosgw', '--version').slice(0, 20)}`,
    `${cpus().length} x ${cpus()[0]?.model ?? 'unknown'}, ${arch()}, Linux ${release()}; all parts on this machine`,
    '',
  ].join('\n');
}

await main();
