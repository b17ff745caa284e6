// Shared by the tests of hermeticity: the tracer built from the current sources, a temporary folder, and
// traced runs.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Access, TraceReport } from '../../hermeticity/trace/access.ts';
import { NativeTracer } from '../../hermeticity/trace/native.ts';
import type { TracedCommand, Tracer } from '../../hermeticity/trace/tracer.ts';
import { type AbsPath, absPath } from '../../system/paths/absolute-path.ts';
import { StraceTracer } from './witness/strace.ts';

export const PROJECT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');
export const NATIVE = join(PROJECT, 'hermeticity/native');
const HELPER = join(PROJECT, 'dist/assay-trace');

/**
 * Builds the helper if a source is newer; build.sh replaces it in one step, so test files may do this at
 * once.
 */
export function nativeTracer(): Tracer {
  const builtAt = statSync(HELPER, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const sources = readdirSync(NATIVE).map((name) => statSync(join(NATIVE, name)).mtimeMs);
  if (sources.some((changedAt) => changedAt > builtAt)) execFileSync(join(NATIVE, 'build.sh'), [HELPER]);
  return new NativeTracer(HELPER);
}

export type TracerName = 'native' | 'strace';

export function isTracerName(text: string): text is TracerName {
  return text === 'native' || text === 'strace';
}

export const TRACERS: Readonly<Record<TracerName, () => Tracer>> = {
  native: nativeTracer,
  strace: () => new StraceTracer(),
};

/** Compiles fixtures/NAME.c into `program`. */
export function compileFixture(name: string, program: string, ...flags: readonly string[]): string {
  const source = join(PROJECT, 'test/hermeticity/fixtures', `${name}.c`);
  execFileSync('cc', ['-O1', '-pthread', ...flags, '-o', program, source]);
  return program;
}

export class Folder {
  readonly path: AbsPath = absPath(realpathSync(mkdtempSync(join(tmpdir(), 'assay-hermeticity-'))));

  /** Creates missing parents. */
  write(path: string, content: string | Buffer = ''): string {
    const full = this.at(path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, content);
    return full;
  }

  at(path: string): AbsPath {
    return absPath(join(this.path, path));
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

export interface TracedRun {
  readonly report: TraceReport;
  readonly stdout: string;
  readonly stderr: string;
}

export async function trace(
  tracer: Tracer,
  cwd: string,
  argv: readonly [string, ...string[]],
  options: Partial<TracedCommand> = {},
): Promise<TracedRun> {
  const said = { stdout: '', stderr: '' };
  const report = await tracer.run({
    argv,
    cwd,
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
    output: (stream, chunk) => {
      said[stream] += chunk.toString();
    },
    ...options,
  });
  return { report, ...said };
}

/** "kind path" of every access below a folder, in order; a rename as "rename a -> b". */
export function linesBelow(report: TraceReport, folder: AbsPath): string[] {
  return report.accesses.flatMap((access) => {
    if (!('path' in access) || !(access.path === folder || access.path.startsWith(`${folder}/`))) return [];
    const short = (path: string) => (path === folder ? '.' : path.slice(folder.length + 1));
    return [`${access.kind} ${short(access.path)}${suffixOf(access, short)}`];
  });
}

export function looksAtLoaderCache({ accesses }: TraceReport): Access[] {
  return accesses.filter((access) => 'path' in access && access.path === '/etc/ld.so.cache');
}

function suffixOf(access: Access, short: (path: string) => string): string {
  if (access.kind === 'rename' || access.kind === 'hardlink') return ` -> ${short(access.to)}`;
  if (access.kind === 'symlink') return ` -> ${access.target}`;
  return 'attributes' in access && access.attributes ? ' (attributes)' : '';
}
