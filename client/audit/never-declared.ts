// Paths that no declaration should name: caches that tools keep in the tree, temporary files, installed
// packages. As an input they would change the key with every run; as an output they would be stored and
// shared for nothing.

interface ToolCache {
  /** Matches the path, which begins and ends with "/". */
  readonly names: RegExp;
  readonly tool: string;
  /** How to run the tool without it, or how to keep it. */
  readonly remedy: string;
}

const CACHES: readonly ToolCache[] = [
  {
    names: /\/__pycache__\/|\.py[co]\/$/,
    tool: 'Python',
    remedy: '--env PYTHONDONTWRITEBYTECODE=1 avoids it',
  },
  { names: /\/\.pytest_cache\//, tool: 'pytest', remedy: 'pytest -p no:cacheprovider avoids it' },
  { names: /\/\.mypy_cache\//, tool: 'mypy', remedy: '--state .mypy_cache keeps it between runs' },
  { names: /\/\.ruff_cache\//, tool: 'ruff', remedy: '--env RUFF_NO_CACHE=true avoids it' },
  { names: /\/\.eslintcache\//, tool: 'eslint', remedy: '--state .eslintcache keeps it between runs' },
  { names: /\.tsbuildinfo\//, tool: 'tsc', remedy: '--state keeps it between runs' },
  {
    names: /\/node_modules\/\.[^/]*(?:cache|vite|vitest|tmp)[^/]*\//,
    tool: 'a Node tool',
    remedy: '--state keeps it between runs',
  },
  { names: /\/\.(?:benchmarks|hypothesis|tox|nox)\//, tool: 'a Python tool', remedy: 'leave it out' },
  {
    names: /\/\.(?:gradle|parcel-cache|turbo|cache|swc|angular)\//,
    tool: 'a build tool',
    remedy: '--state keeps it between runs',
  },
  { names: /\/\.(?:ninja_log|ninja_deps)\//, tool: 'ninja', remedy: 'build in a folder that is an output' },
];

const TEMPORARY =
  /(?:^|\/)(?:tmp|temp)(?:\/|$)|\.(?:tmp|temp|swp|swo|pid)$|~$|(?:^|\/)\.?#[^/]*$|(?:^|\/)tmp(?:\.\w{6,}|[a-z0-9_]{8})$|(?:^|\/)core\.\d+$/i;

/** Why neither an input nor an output should name this path; undefined if one may. */
export function whyNeverDeclared(path: string): string | undefined {
  const text = `/${path}/`;
  const cache = CACHES.find(({ names }) => names.test(text));
  if (cache) return `a cache of ${cache.tool}: ${cache.remedy}`;
  if (/(?:^|\/)assay\.json$/.test(path)) return 'it holds the declarations themselves';
  return TEMPORARY.test(path) ? 'a temporary file: let the command write it to TMPDIR' : undefined;
}

export const BOTH_WAYS = 'the command both reads and writes it';

/** Whether a package manager installed it. */
export function isInstalledPackage(path: string): boolean {
  return /(?:^|\/)(?:node_modules|site-packages|\.venv|venv)(?:\/|$)/.test(path);
}
