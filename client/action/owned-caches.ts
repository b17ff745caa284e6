// The caches in the workspace that belong to the tools of a command (docs/TOOL-CACHES.md).
// A command finds none of them: Assay sets them aside before it starts and puts them back afterwards.
//
// A cache belongs to one tool, and counts only if the command names that tool: as its program, in its shell
// line, behind a runner such as npx, or in the script of package.json that it runs. To every other command it
// is a file like any other.

import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import {
  childOf,
  isWithin,
  nameFromBytes,
  parentOf,
  parseRelPath,
  type RelPath,
  ROOT,
  toSystemPath,
} from '../../core/path.ts';
import { DECLARED } from '../limits.ts';
import type { RunRequest } from './request.ts';
import { commandsOf } from './shell-line.ts';

export interface OwnedCache {
  readonly path: RelPath;
  /** The folder whose tool keeps it. */
  readonly folder: RelPath;
  readonly tool: string;
}

export type CacheOwner = Pick<RunRequest, 'workspace' | 'workingDirectory' | 'command' | 'outputs'>;

interface Tool {
  readonly tool: string;
  readonly programs: ReadonlySet<string>;
  /** From the working directory. A star stands for the beginning of a file's name. */
  readonly caches: readonly string[];
  /** Also in the folders above the working directory: pytest keeps its cache beside its configuration. */
  readonly above?: string;
}

const TOOLS: readonly Tool[] = [
  {
    tool: 'pytest',
    programs: new Set(['pytest', 'py.test']),
    caches: ['.pytest_cache', '.benchmarks'],
    above: '.pytest_cache',
  },
  { tool: 'eslint', programs: new Set(['eslint']), caches: ['.eslintcache'] },
  { tool: 'tsc', programs: new Set(['tsc', 'vue-tsc']), caches: ['*.tsbuildinfo'] },
  {
    tool: 'webpack',
    programs: new Set(['webpack', 'webpack-cli']),
    caches: ['webpack', 'babel-loader', 'terser-webpack-plugin'].map((name) => `node_modules/.cache/${name}`),
  },
  { tool: 'vitest', programs: new Set(['vitest']), caches: ['node_modules/.vitest-cache'] },
];

const CARGO = 'cargo';
const TOX = 'tox';

/** The tool that keeps a cache at, or around, this path. */
export function keeperOf(path: string): string | undefined {
  return TOOLS.find(({ caches }) => caches.some((cache) => `${path}/`.includes(`/${cache}/`)))?.tool;
}

export class OwnedCaches {
  readonly #request: CacheOwner;
  #known: readonly Place[] | undefined;

  constructor(request: CacheOwner) {
    this.#request = request;
  }

  get ownsAny(): boolean {
    return this.#places().length > 0;
  }

  /** Whether the path is, or lies in, a cache of one of the command's tools. */
  has(path: RelPath): boolean {
    return this.cacheAround(path) !== undefined;
  }

  /** The cache that the path is, or lies in. */
  cacheAround(path: RelPath): RelPath | undefined {
    for (const { folder, name } of this.#places()) {
      if (!name.startsWith('*')) {
        const cache = within(folder, name);
        if (isWithin(path, cache)) return cache;
      } else if (parentOf(path) === folder && path.endsWith(name.slice(1))) return path;
    }
    return undefined;
  }

  /** Those that exist. */
  present(): OwnedCache[] {
    const { workspace } = this.#request;
    return this.#places().flatMap(({ folder, name, tool }) => {
      const names = name.startsWith('*')
        ? namesIn(workspace, folder).filter((one) => one.endsWith(name.slice(1)))
        : [name];
      return names
        .map((one) => ({ path: within(folder, one), folder, tool }))
        .filter(({ path }) => isThere(workspace, path));
    });
  }

  #places(): readonly Place[] {
    this.#known ??= [...placesOf(this.#request)];
    return this.#known;
  }
}

type Place = Omit<OwnedCache, 'path'> & { readonly name: string };

function* placesOf(request: CacheOwner): Generator<Place> {
  const { workspace, workingDirectory, command, outputs } = request;
  const programs = new Set(programsOf(command, join(workspace, workingDirectory)));
  for (const { tool, programs: names, caches, above } of TOOLS) {
    if (![...names].some((name) => programs.has(name))) continue;
    for (const name of caches) yield { folder: workingDirectory, name, tool };
    if (above === undefined) continue;
    for (let folder = workingDirectory; folder !== ROOT; ) {
      folder = parentOf(folder);
      yield { folder, name: above, tool };
    }
  }
  if (programs.has(TOX))
    for (const name of logsOfTox(namesIn(workspace, childOf(workingDirectory, '.tox'))))
      yield { folder: workingDirectory, name, tool: TOX };
  // A build without an output there is the user's own, whose next build needs the folder.
  const target = childOf(workingDirectory, 'target');
  const isCargo = programs.has(CARGO) && isThere(workspace, childOf(workingDirectory, 'Cargo.toml'));
  if (isCargo && outputs.some((output) => isWithin(output, target)))
    yield { folder: workingDirectory, name: 'target', tool: CARGO };
}

/** tox empties these folders at its start. Of an environment, they are beside its packages. */
function logsOfTox(names: readonly string[]): string[] {
  const environments = names.filter((name) => name !== 'log' && !name.startsWith('.'));
  return ['.tox/log', ...environments.flatMap((name) => [`.tox/${name}/log`, `.tox/${name}/tmp`])];
}

/** Programs that start the program that their arguments name. */
const RUNNERS: ReadonlySet<string> = new Set(
  'bun bunx corepack coverage cross-env dotenv env exec hatch nice node nodejs npm npx pdm pipenv pnpm pnpx poetry run rye time timeout uv uvx x yarn'.split(
    ' ',
  ),
);
const PYTHON = /^python[\d.]*$/;
const SHELLS = /^(?:ba|da|z)?sh$/;
const SHELL_LINE = /^-[a-z]*c$/;
/** Flags, assignments, and the seconds of `timeout`. */
const NO_PROGRAM = /^-|^\w+=|^\d+[smh]?$/;

/** The names of the programs that a command starts, as far as its words and the scripts of package.json show. */
function programsOf(command: readonly string[], folder: string, depth = 0): string[] {
  const [first = ''] = command;
  if (SHELLS.test(basename(first))) {
    const flag = command.findIndex((word) => SHELL_LINE.test(word));
    return flag === -1 ? [] : programsOfLine(command[flag + 1] ?? '', folder, depth);
  }
  const named = command.find((word) => {
    const name = basename(word);
    return !NO_PROGRAM.test(word) && !RUNNERS.has(name) && !PYTHON.test(name);
  });
  if (named === undefined) return [];
  const script = named === first || depth >= DECLARED.deepestScript ? undefined : scriptIn(folder, named);
  if (script !== undefined) return programsOfLine(script, folder, depth + 1);
  return [basename(named).replace(/\.(?:[cm]?js|py)$/, '')];
}

function programsOfLine(line: string, folder: string, depth: number): string[] {
  return commandsOf(line).flatMap((command) => programsOf(command, folder, depth));
}

function scriptIn(folder: string, name: string): string | undefined {
  try {
    const script: unknown = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).scripts?.[name];
    return typeof script === 'string' ? script : undefined;
  } catch {
    return undefined;
  }
}

function within(folder: RelPath, name: string): RelPath {
  return parseRelPath(folder === ROOT ? name : `${folder}/${name}`);
}

function namesIn(workspace: string, folder: RelPath): string[] {
  try {
    return readdirSync(toSystemPath(workspace, folder), { encoding: 'buffer' }).map(nameFromBytes);
  } catch {
    return [];
  }
}

/** False also if the path leads through a file. */
function isThere(workspace: string, path: RelPath): boolean {
  try {
    return lstatSync(toSystemPath(workspace, path), { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}
