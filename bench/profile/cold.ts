// The profile of a watched graph that has no cache, in any version, as the executable: its threads by parts, the
// tracer, and the steps' commands.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { commitAll, makeRepository } from '../graph/repository.ts';
import { type Profile, sharesOf } from './parts.ts';
import { type Sample, sampleCommand, samplesIn } from './samples.ts';

const STEPS = 300;

/** By the names that Bun gives to its threads. */
const PROGRAMS: readonly (readonly [RegExp, string])[] = [
  [/^assay-trace/, 'the tracer'],
  [/^(JITWorker|JSCWarmUp|DFG|FTL)/, "the engine's compiler threads"],
  [/^(HeapHelper|mi-scavenger)/, "the engine's threads for memory"],
  [/^Bun Pool/, 'pool threads: files, and commits of LMDB'],
];
/** Of the main thread. */
const FILES: readonly (readonly [RegExp, string])[] = [
  [/kernel/, 'main thread: kernel'],
  [/^\[JIT\]/, 'main thread: compiled JavaScript'],
  [/^assay/, "main thread: the engine's own code"],
];

export function profileCold(project: string, folder: string): Profile {
  const root = join(folder, 'repository');
  makeRepository(root, { packages: STEPS, files: 3, fileBytes: 200 });
  commitAll(root);
  const [file, times] = [join(folder, 'samples'), join(folder, 'times')];
  const run = [executableIn(project), 'run', '--logs=none', 'build'];
  const env = { PATH: process.env.PATH, HOME: folder, ASSAY_STORE: join(folder, 'store') };
  sampleCommand(['/usr/bin/time', '-o', times, '-f', '%U %S', ...run], file, { cwd: root, env });
  const [user = 0, system = 0] = readFileSync(times, 'utf8').split(' ').map(Number);
  return { cpuMs: ((user + system) * 1000) / STEPS, shares: sharesOf(samplesIn(file), partOf) };
}

/** Older versions have no starter. */
function executableIn(project: string): string {
  const [starter, executable] = ['assay-start', 'assay'].map((name) => join(project, 'dist', name));
  const found = [starter, executable].find((path) => path !== undefined && existsSync(path));
  if (found === undefined) throw new Error(`build ${project} first: npm run build`);
  return found;
}

function partOf({ program, file }: Sample): string {
  const [, part] = PROGRAMS.find(([pattern]) => pattern.test(program)) ?? [];
  if (part !== undefined) return part;
  if (!program.startsWith('assay')) return "the steps' commands";
  return FILES.find(([pattern]) => pattern.test(file))?.[1] ?? 'main thread: LMDB, libc';
}
