// Measures an export and an import of 1 GiB beside zstd -3 and SHA-256 of the same content alone. Prints a table and asserts
// nothing.
//
//   npm run bench -- bundles [--folder=FOLDER]     makes its stores in FOLDER, or the system's temporary folder, and removes them
//
// The content is mixed: a half in files of 8 MiB, a quarter in 256 KiB, a quarter in 8 KiB; a third of each is random, the rest
// is text. CPU is that of the whole process, threads and kernel included. Memory is what the process has at most, without the
// pages of files that it maps, and with them.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { constants, zstdCompressSync } from 'node:zlib';
import { digestOf } from '../../../core/digest.ts';
import { KIB, MIB } from '../../../core/units.ts';
import { openDiskStore } from '../../../store/open.ts';
import { FORMS } from '../../../test/rig/assay.ts';
import { processorMs } from '../../../test/rig/memory.ts';
import { noise } from '../../../test/rig/random.ts';
import { addressOf, resultNaming } from '../../../test/store/content.ts';

const TOTAL = Number(process.env.ASSAY_BENCH_MIB ?? 1024) * MIB;
const PARTS = [
  { size: 8 * MIB, share: 1 / 2 },
  { size: 256 * KIB, share: 1 / 4 },
  { size: 8 * KIB, share: 1 / 4 },
];
const POLL_MS = 5;
const PROGRAM = FORMS[existsSync(FORMS.executable[0]) ? 'executable' : 'source'];

function* contents(): Generator<Buffer> {
  let seed = 1;
  for (const { size, share } of PARTS)
    for (let left = TOTAL * share; left > 0; left -= size) {
      const random = noise(seed++, size);
      if (seed % 3 === 0) yield random;
      else yield textOf(random);
    }
}

/** About as compressible as sources: words of 6 letters out of 4096. */
function textOf(random: Buffer): Buffer {
  const text = Buffer.allocUnsafe(random.length);
  for (let at = 0; at < text.length; at++) {
    const word = random[(at - (at % 7)) % random.length] ?? 0;
    text[at] = at % 7 === 6 ? 32 : 97 + ((word * 31 + (at % 7) * 17) % 26);
  }
  return text;
}

async function fill(folder: string): Promise<void> {
  const store = await openDiskStore({ directory: folder });
  let named = [];
  let number = 0;
  for (const bytes of contents()) {
    named.push(await store.blobs.put(digestOf(bytes), bytes));
    if (named.length < 64) continue;
    await store.results.put(addressOf(`result ${number++}`), resultNaming(...named));
    named = [];
  }
  await store.results.put(addressOf(`result ${number}`), resultNaming(...named));
  await store.close();
}

interface Cost {
  readonly cpuMs: number;
  readonly wallMs: number;
  readonly anonymousBytes: number;
  readonly residentBytes: number;
}

/** Zstd in slices of 1 MiB, as a bundle has them, and SHA-256 of everything. */
function reference(): number {
  const hash = createHash('sha256');
  const options = { params: { [constants.ZSTD_c_compressionLevel]: 3 } };
  let spent = 0;
  for (const bytes of contents()) {
    const before = process.cpuUsage();
    hash.update(bytes);
    for (let at = 0; at < bytes.length; at += MIB) zstdCompressSync(bytes.subarray(at, at + MIB), options);
    const { user, system } = process.cpuUsage(before);
    spent += user + system;
  }
  return spent / 1000;
}

async function costOf(args: readonly string[], store: string): Promise<Cost> {
  const [program, ...before] = PROGRAM;
  const began = performance.now();
  const env = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '/', ASSAY_STORE: store };
  const child = spawn(program, [...before, ...args], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  let cost = { cpuMs: 0, anonymousBytes: 0, residentBytes: 0 };
  const { pid } = child;
  const poll = setInterval(() => {
    if (pid !== undefined) cost = peaks(pid, cost);
  }, POLL_MS);
  const code = await new Promise<number | null>((done) => child.once('exit', done));
  clearInterval(poll);
  if (code !== 0) throw new Error(`assay ${args.join(' ')} ended with ${code}`);
  return { ...cost, wallMs: performance.now() - began };
}

/** Of a process that has just ended: the figures before. */
function peaks(pid: number, seen: Omit<Cost, 'wallMs'>): Omit<Cost, 'wallMs'> {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    const field = (name: string) =>
      Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) * 1024;
    return {
      cpuMs: processorMs(pid) || seen.cpuMs,
      anonymousBytes: Math.max(seen.anonymousBytes, field('RssAnon')),
      residentBytes: Math.max(seen.residentBytes, field('VmHWM')),
    };
  } catch {
    return seen;
  }
}

const { values } = parseArgs({ options: { folder: { type: 'string', default: tmpdir() } } });
const folder = mkdtempSync(join(values.folder, 'assay-bench-'));
try {
  const [from, to, file] = [join(folder, 'from'), join(folder, 'to'), join(folder, 'bundle')];
  await fill(from);
  const alone = reference();
  console.log(`zstd -3 and SHA-256 alone   ${(alone / 1000).toFixed(2)} s CPU`);
  const show = (name: string, { cpuMs, wallMs, anonymousBytes, residentBytes }: Cost) =>
    console.log(
      `${name.padEnd(27)} ${(cpuMs / 1000).toFixed(2)} s CPU, ${(cpuMs / alone).toFixed(2)} times; ${(wallMs / 1000).toFixed(1)} s; ${Math.round(anonymousBytes / MIB)} MiB, ${Math.round(residentBytes / MIB)} MiB with mapped files`,
    );
  show('export', await costOf(['export', file], from));
  console.log(`the bundle has ${Math.round(statSync(file).size / MIB)} MiB`);
  show('import', await costOf(['import', file], to));
  show('import again', await costOf(['import', file], to));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
