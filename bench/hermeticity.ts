// The cost of tracing: CPU time of a command with all its children, plain, under Assay's helper (decoding of
// its records included) and under strace (output discarded); for a parallel command its wall time. Reports the
// median ratio of neighbouring rounds, because the speed of a shared machine varies by the minute. Prints a table
// and asserts nothing.
//
//   node bench/hermeticity.ts [--against HELPER] [--only TEXT]
//
// --against: another build of the helper instead of strace, in turns. --only: rows whose name contains the text.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { NativeTracer } from '../hermeticity/trace/native.ts';
import { median } from './server/table.ts';

const PROJECT = join(import.meta.dirname, '..');
/** The binary itself: the entry in .bin may be a Node script that starts it. */
const ESBUILD = join(PROJECT, `node_modules/@esbuild/linux-${process.arch}/bin/esbuild`);
const TSC = join(PROJECT, 'node_modules/.bin/tsc');
/** Rounds of a command that takes many seconds. */
const FEW_ROUNDS = 5;
/** Rounds of a command that takes a few seconds. */
const MANY_ROUNDS = 13;
/**
 * Rounds of a command whose variation exceeds its limit: with 25 rounds, the same program took 1.02 and 1.06
 * times plain.
 */
const VARYING_ROUNDS = 50;
const TICKS_PER_SECOND = 100;

interface Workload {
  readonly name: string;
  /** The upper limit for the ratio of Assay's helper. */
  readonly limit: number;
  /** What is measured; else the CPU time. */
  readonly wall?: true;
  lay(folder: string): void;
  readonly rounds: number;
  /** Run before each measurement, not measured. */
  readonly clean: string;
  readonly command: string;
}

const WORKLOADS: readonly Workload[] = [
  {
    name: 'gcc -c of 200 files by make',
    limit: 1.7,
    rounds: FEW_ROUNDS,
    lay: layC,
    clean: 'rm -f *.o',
    command: 'make -s',
  },
  {
    name: 'the same by make -j2, wall time',
    limit: 1.6,
    wall: true,
    rounds: FEW_ROUNDS,
    lay: layC,
    clean: 'rm -f *.o',
    command: 'make -s -j2',
  },
  {
    name: 'esbuild bundle of 1,000 modules, 5 times',
    limit: 1.25,
    rounds: FEW_ROUNDS,
    lay: layModules,
    clean: 'rm -rf out',
    command: `for i in 1 2 3 4 5; do '${ESBUILD}' --bundle --minify --log-level=error main.ts --outfile=out/$i.js; done`,
  },
  {
    name: 'tsc of 1,000 modules',
    limit: 1.05,
    rounds: VARYING_ROUNDS,
    lay: layModules,
    clean: 'true',
    command: `'${TSC}' --noEmit --strict --types '' --module esnext --moduleResolution bundler main.ts`,
  },
  {
    name: 'a walk through 20,000 files (find, cat), 3 times',
    limit: 3.5,
    rounds: MANY_ROUNDS,
    lay: layTree,
    clean: 'true',
    command: 'for i in 1 2 3; do find tree -type f -exec cat {} +; done >/dev/null',
  },
  {
    name: 'the same by grep -r, which does less with each',
    limit: 3.5,
    rounds: MANY_ROUNDS,
    lay: layTree,
    clean: 'true',
    command: 'for i in 1 2 3; do grep -r not-in-there tree; done; true',
  },
];

type Run = (command: string, folder: string) => void | Promise<void>;

const OPTIONS = { against: { type: 'string' }, only: { type: 'string', default: '' } } as const;

export async function bench(args: readonly string[] = []): Promise<void> {
  const { against, only } = parseArgs({ args: [...args], options: OPTIONS }).values;
  const other = against === undefined ? runUnderStrace : runTracedBy(new NativeTracer(against));
  const name = against === undefined ? 'strace' : 'the other helper';
  console.log(`${'CPU time'.padEnd(48)}   plain   assay-trace (limit)   ${name}`);
  for (const workload of WORKLOADS.filter((workload) => workload.name.includes(only))) {
    const folder = mkdtempSync(join(tmpdir(), 'assay-bench-hermeticity-'));
    try {
      workload.lay(folder);
      console.log(await row(workload, folder, other));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
}

async function row(workload: Workload, folder: string, runByOther: Run): Promise<string> {
  if (workload.command.includes(ESBUILD) && !existsSync(ESBUILD)) {
    return `${workload.name.padEnd(48)}   esbuild is not installed`;
  }
  const plain: number[] = [];
  const native: number[] = [];
  const other: number[] = [];
  const runTraced = runTracedBy(new NativeTracer());
  for (let round = 0; round < workload.rounds; round++) {
    const base = await measure(workload, folder, runPlain);
    plain.push(base);
    native.push((await measure(workload, folder, runTraced)) / base);
    if (round < FEW_ROUNDS) other.push((await measure(workload, folder, runByOther)) / base);
  }
  const ratio = (ratios: readonly number[]) => median(ratios).toFixed(2).padStart(6);
  const limit = `(${workload.limit.toFixed(2)})`.padEnd(9);
  return `${workload.name.padEnd(48)} ${median(plain).toFixed(2).padStart(5)} s        ${ratio(native)} ${limit}     ${ratio(other)}`;
}

/** CPU seconds of all children that have ended, and of this process meanwhile; or seconds of wall time. */
async function measure(workload: Workload, folder: string, run: Run): Promise<number> {
  spawnSync('sh', ['-c', workload.clean], { cwd: folder });
  const childrenBefore = childrenSeconds();
  const ownBefore = process.cpuUsage();
  const startedAt = performance.now();
  await run(workload.command, folder);
  const MS_PER_SECOND = 1000;
  if (workload.wall) return (performance.now() - startedAt) / MS_PER_SECOND;
  const own = process.cpuUsage(ownBefore);
  return childrenSeconds() - childrenBefore + (own.user + own.system) / 1e6;
}

function runPlain(command: string, folder: string): void {
  runBy(['sh', '-c', command], folder);
}

function runUnderStrace(command: string, folder: string): void {
  const flags = ['-f', '--seccomp-bpf', '-qq', '-o', '/dev/null', '-e', 'trace=%file,%process,%network'];
  runBy(['strace', ...flags, 'sh', '-c', command], folder);
}

function runBy([program = 'sh', ...args]: readonly string[], folder: string): void {
  const { status } = spawnSync(program, args, { cwd: folder, env: environment(), stdio: 'ignore' });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${status}`);
}

function runTracedBy(tracer: NativeTracer): Run {
  return async (command, folder) => {
    const { complete } = await tracer.run({
      argv: ['sh', '-c', command],
      cwd: folder,
      env: environment(),
      output: () => {},
    });
    if (!complete) throw new Error(`the trace of ${command} is not complete`);
  };
}

function environment(): Record<string, string> {
  return { PATH: '/usr/bin:/bin', LC_ALL: 'C' };
}

/** cutime and cstime: the sums that the kernel keeps for reaped children, in ticks. */
function childrenSeconds(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[13]) + Number(fields[14])) / TICKS_PER_SECOND;
}

function layC(folder: string): void {
  writeFileSync(join(folder, 'common.h'), '#define COMMON 3\n');
  writeFileSync(
    join(folder, 'Makefile'),
    'all: $(patsubst %.c,%.o,$(wildcard *.c))\n%.o: %.c common.h\n\tgcc -c $< -o $@\n',
  );
  for (let index = 0; index < 200; index++) {
    const body = `int f${index}(int a) { char b[64]; snprintf(b, 64, "%d", a); return (int)strlen(b) + COMMON; }`;
    const includes = ['<stdio.h>', '<stdlib.h>', '<string.h>', '"common.h"'].map(
      (name) => `#include ${name}\n`,
    );
    writeFileSync(join(folder, `f${index}.c`), `${includes.join('')}${body}\n`);
  }
}

function layModules(folder: string): void {
  writeFileSync(join(folder, 'package.json'), '{}');
  const names = Array.from({ length: 1000 }, (_, index) => `m${index}`);
  for (const [index, name] of names.entries()) {
    const functions = Array.from(
      { length: 20 },
      (_, i) => `export function ${name}f${i}(a: number, b: string): string {
  const list = [a, ${i}, ${index}].map((n) => n * 2).filter((n) => n > 1);
  return list.reduce((text, n) => \`\${text}-\${n}\`, b) + '${name}';
}`,
    );
    writeFileSync(join(folder, `${name}.ts`), `${functions.join('\n')}\n`);
  }
  const uses = names.map(
    (name) => `import * as ${name} from './${name}';\nconsole.log(${name}.${name}f0(1, 'x'));`,
  );
  writeFileSync(join(folder, 'main.ts'), `${uses.join('\n')}\n`);
}

function layTree(folder: string): void {
  for (let outer = 0; outer < 200; outer++) {
    const sub = join(folder, 'tree', `d${outer}`);
    mkdirSync(sub, { recursive: true });
    for (let inner = 0; inner < 100; inner++) writeFileSync(join(sub, `f${inner}`), 'x'.repeat(100));
  }
}

if (import.meta.main) await bench(process.argv.slice(2));
