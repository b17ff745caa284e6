// The caches that tools keep in the tree: files that make the next run of a tool faster and are nobody's
// input or output. docs/TOOL-CACHES.md lists them with reasons.
//
// What an action writes there is no finding, and neither is what it reads back. A file that was there before
// the action is an ordinary one: reading it is a finding. The client moves a cache away before an action that
// runs the tool which owns it (client/outputs/earlier-caches.ts), so that few actions meet one.
import type { RelPath } from '../../core/path.ts';

/** In any folder. */
const NAMES: ReadonlySet<string> = new Set([
  '.benchmarks',
  '.eslintcache',
  '.mypy_cache',
  '.pytest_cache',
  '.ruff_cache',
  '__pycache__',
]);

const IN_NODE_MODULES =
  /(?:^|\/)node_modules\/(?:\.cache|\.vite|\.vite-temp|\.vitest|\.vitest-cache)(?:\/|$)/;

/** Logs and temporary files of tox, beside the packages of an environment. */
const OF_TOX = /(?:^|\/)\.tox\/(?:log|[^/]+\/(?:log|tmp))(?:\/|$)/;

/** Their content decides only the order in which tests run. */
const ORDER_OF_TESTS = /(?:^|\/)node_modules\/(?:\.vite\/vitest|\.vitest)(?:\/|$)/;

/** `has`: whether a path exists or is declared. It tells cargo's folder from any other "target". */
export function isInToolCache(path: RelPath, has: (path: RelPath) => boolean): boolean {
  if (path.endsWith('.tsbuildinfo') || IN_NODE_MODULES.test(path) || OF_TOX.test(path)) return true;
  const parts = path.split('/');
  return parts.some(
    (name, at) => NAMES.has(name) || (name === 'target' && has(beside(parts, at, 'Cargo.toml'))),
  );
}

/** What cargo locks, and a mark for backups that it writes anew in each run. It reads the content of neither. */
const LOCKS_OF_CARGO = /\/(?:\.package-cache|(?:git|registry)\/CACHEDIR\.TAG)$/;

/** Whether it is a file of CARGO_HOME that cargo opens only for its own order of work. */
export function isLockOfCargo(path: string): boolean {
  return LOCKS_OF_CARGO.test(path);
}

/** A folder into which packages are installed, and in which tools keep caches. */
export function isPackageFolder(path: RelPath): boolean {
  return path === 'node_modules' || path.endsWith('/node_modules');
}

/** Whether a file that was there before may be read without influence on the result. */
export function isHarmlessCache(path: RelPath): boolean {
  return ORDER_OF_TESTS.test(path);
}

function beside(parts: readonly string[], at: number, name: string): RelPath {
  return [...parts.slice(0, at), name].join('/') as RelPath;
}
