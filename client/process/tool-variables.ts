// Variables that keep the caches of tools out of the tree (docs/TOOL-CACHES.md). Like HOME and TMPDIR they
// are not in the key: their values name scratch folders, and no result depends on them.
//
// Python writes no bytecode beside the sources. If there is some from earlier, Python must not read it: it
// trusts the mtime of a source. Then Python gets an empty folder for its bytecode, at the price of compiling
// its own library once for each command.
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { childOf, parentOf, type RelPath, toSystemPath } from '../../core/path.ts';
import type { KeyedAction } from '../inputs/keyed-action.ts';

const BYTECODE = '__pycache__';

export function toolVariables(
  action: Pick<KeyedAction, 'request' | 'inputs' | 'environment'>,
  tmp: string,
): Readonly<Record<string, string>> {
  const declared = new Set(action.environment.map(({ name }) => name));
  const variables = {
    MYPY_CACHE_DIR: join(tmp, 'mypy'),
    RUFF_CACHE_DIR: join(tmp, 'ruff'),
    ...(hasBytecode(action)
      ? { PYTHONPYCACHEPREFIX: join(tmp, 'pycache') }
      : { PYTHONDONTWRITEBYTECODE: '1' }),
  };
  return Object.fromEntries(Object.entries(variables).filter(([name]) => !declared.has(name)));
}

/** Looks only in the folders of declared modules. Elsewhere the check of file times finds it. */
function hasBytecode({ request, inputs }: Pick<KeyedAction, 'request' | 'inputs'>): boolean {
  const folders = new Set<RelPath>();
  for (const { path } of inputs.entries()) if (path.endsWith('.py')) folders.add(parentOf(path));
  return [...folders].some(
    (folder) =>
      lstatSync(toSystemPath(request.workspace, childOf(folder, BYTECODE)), { throwIfNoEntry: false }) !==
      undefined,
  );
}
