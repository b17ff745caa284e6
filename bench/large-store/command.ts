// Runs one client command in this process and reports on standard error: CPU time, the peak of all mapped
// memory, and the peak of the process's own memory. LMDB maps its file, and the kernel can reclaim that
// memory at any time.
//
//   node bench/large-store/command.ts gc|verify ARGUMENT…
import { readFileSync } from 'node:fs';
import { gcCommand } from '../../client/commands/gc.ts';
import { verifyCommand } from '../../client/commands/verify.ts';

const SAMPLE_MS = 50;
const MIB = 1024 * 1024;

const [name, ...args] = process.argv.slice(2);
let ownPeak = 0;

function sample(): void {
  const [, kib = '0'] = /^RssAnon:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'latin1')) ?? [];
  ownPeak = Math.max(ownPeak, Number(kib) * 1024);
}

const sampling = setInterval(sample, SAMPLE_MS);
const began = performance.now();
process.exitCode = await (name === 'gc' ? gcCommand : verifyCommand).main(args);
clearInterval(sampling);
sample();
const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
const took = {
  cpuSeconds: (userCPUTime + systemCPUTime) / 1e6,
  wallSeconds: (performance.now() - began) / 1000,
  ownMiB: ownPeak / MIB,
  withMapMiB: maxRSS / 1024,
};
process.stderr.write(`\n${JSON.stringify(took)}\n`);
