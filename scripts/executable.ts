// Compiles the bundle into one executable, by Bun. Guarantee: the same bundle, base and order in the same folder give
// the same bytes.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const PACKAGES = join(import.meta.dirname, '../node_modules');

const BUN_ARCH: Readonly<Record<string, string>> = { arm64: 'aarch64', x64: 'x64' };

export const BUN = join(PACKAGES, bunPackage(process.arch), 'bin/bun');

/** The npm package that has Bun for an architecture, as Node names it. */
export function bunPackage(arch: string): string {
  return `@oven/bun-linux-${BUN_ARCH[arch]}`;
}

/**
 * A factor by which Bun delays compilation to machine code. A hit ends before compilation pays; longer runs
 * still get it (docs/MEASUREMENTS.md#0197).
 */
const JIT_RELUCTANCE = 3;

interface Compilation {
  /** The folder of the bundle. The executable holds its path. */
  readonly bundle: string;
  readonly executable: string;
  /** Files that an earlier executable wrote: which code its runs called. That code lies at the front. */
  readonly orders: readonly string[];
  /** The Bun that the executable starts from: that of another architecture, or this machine's own. */
  readonly base?: string;
}

/** Without the flags about autoload, the executable would read .env and bunfig.toml of its working directory. */
export function compileExecutable({ bundle, executable, orders, base = BUN }: Compilation): void {
  const options = [
    '--compile',
    '--bytecode',
    '--minify',
    '--target=bun',
    '--no-compile-autoload-dotenv',
    '--no-compile-autoload-bunfig',
    `--compile-jit-policy=${JIT_RELUCTANCE}`,
    `--compile-executable-path=${base}`,
    ...orders.map((order) => `--bytecode-order=${order}`),
  ];
  execFileSync(BUN, ['build', 'main.cjs', ...options, `--outfile=${executable}`], {
    cwd: bundle,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}
