// The cost of 100,000 outputs: the command alone, the run that publishes them, a hit that restores them, and
// a hit that finds them in place, each with the memory of the largest process; and a log of 50 MB. Then the
// CPU time of hashing a gigabyte, with and without the search for texts of the machine. Ratios within one run
// count. Prints tables and asserts nothing. Needs `npm run build` and python3.
//
//   node bench/outputs.ts [--outputs 100000]
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { digestFile } from '../client/files/file-digest.ts';
import { MachineTextSearch } from '../client/outputs/machine-text.ts';
import { Machine } from '../client/path-sets/machine.ts';
import { machineTexts } from '../client/trace/machine-facts.ts';
import { table } from './server/table.ts';

const ASSAY = join(import.meta.dirname, '..', 'dist', 'assay');
const LOG_BYTES = 50_000_000;

const MAKE = `
const { mkdirSync, writeFileSync } = require('node:fs');
for (let d = 0; d < Number(process.argv[2]) / 100; d++) {
  mkdirSync('out/' + d, { recursive: true });
  for (let i = 0; i < 100; i++) writeFileSync('out/' + d + '/' + i, 'output ' + d + ' ' + i);
}
`;

/** Wall seconds, CPU seconds, and the memory of the largest process of one command. */
const MEASURE = `
import json, resource, subprocess, sys, time
began = time.monotonic()
code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([code, time.monotonic() - began, used.ru_utime + used.ru_stime, used.ru_maxrss]))
`;

function main(): void {
  const { values } = parseArgs({ options: { outputs: { type: 'string', default: '100000' } } });
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'assay-bench-outputs-')));
  const workspace = join(folder, 'workspace');
  try {
    mkdirSync(workspace);
    writeFileSync(join(workspace, 'make.cjs'), MAKE);
    const command = [process.execPath, 'make.cjs', values.outputs];
    const run = [ASSAY, 'run', '--store', join(folder, 'store')];
    const step = [...run, '--input', 'make.cjs', '--output', 'out', '--', ...command];
    const log = [...run, '--', 'sh', '-c', `head -c ${LOG_BYTES} /dev/zero | tr '\\0' x`];
    // Moved, not deleted: for a minute after a deletion ext4 skips each freed inode one by one, and a new
    // file costs ten times as much.
    let cleared = 0;
    const clear = () => renameSync(join(workspace, 'out'), join(folder, `cleared-${cleared++}`));
    const rows = [['', 'seconds', 'CPU seconds', 'MiB']];
    const add = (name: string, argv: readonly string[]) => rows.push([name, ...measured(argv, workspace)]);
    add('the command alone', command);
    clear();
    add('watched and published', step);
    clear();
    add('restored', step);
    add('found in place', step);
    add('found in place again', step);
    clear();
    add('the command alone, again', command);
    clear();
    add('restored, again', step);
    add('a log, published', log);
    add('a log, replayed', log);
    console.log(`${values.outputs} outputs; ${LOG_BYTES} bytes of log`);
    console.log(table(rows));
    console.log(table(searchRows(folder)));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The search costs at most 0.3 CPU seconds for a gigabyte (decision 0273). */
function searchRows(folder: string): string[][] {
  const contents = {
    'random bytes': randomBytes(SEARCHED),
    'a program': programs(),
    zeros: Buffer.alloc(SEARCHED),
  };
  const rows = [['CPU seconds for a gigabyte', 'hashed', 'hashed and searched', 'the search']];
  for (const [name, content] of Object.entries(contents)) {
    const file = join(folder, 'searched');
    writeFileSync(file, content);
    const [plain, searched] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY].map((most, at) =>
      Array.from({ length: 5 }, () => cpuOf(() => digest(file, at === 1))).reduce(
        (a, b) => Math.min(a, b),
        most,
      ),
    );
    const perGigabyte = (seconds = 0) => (seconds / (content.length / 1e9)).toFixed(2);
    rows.push([name, ...[plain, searched, (searched ?? 0) - (plain ?? 0)].map(perGigabyte)]);
  }
  return rows;
}

const SEARCHED = 100_000_000;

function programs(): Buffer {
  return readFileSync(process.execPath).subarray(0, SEARCHED);
}

function digest(file: string, isSearched: boolean): void {
  const search = new MachineTextSearch(
    isSearched ? machineTexts(new Machine('/home/annasmith/src/project-x'), false) : [],
  );
  const digests = search.wrap({
    digest: (_name, _stats, locate, onRead) => digestFile(locate(), onRead).digest,
  });
  digests.digest('searched', statSync(file), () => file);
}

function cpuOf(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

function measured(argv: readonly string[], cwd: string): string[] {
  const ran = spawnSync('/usr/bin/python3', ['-c', MEASURE, ...argv], { cwd, encoding: 'utf8' });
  const [code, seconds, cpu, kilobytes]: number[] = JSON.parse(ran.stdout);
  if (code !== 0) throw new Error(`it ended with ${code}: ${argv.join(' ')}`);
  return [seconds?.toFixed(1) ?? '', cpu?.toFixed(1) ?? '', ((kilobytes ?? 0) / 1024).toFixed(0)];
}

main();
