// Where the local store lives: --store, else ASSAY_STORE, else the user's cache folder as XDG has it.
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import type { Variables } from './environment.ts';

export function storeFolder(flag: string | undefined, variables: Variables): string {
  const named = flag ?? variables.ASSAY_STORE;
  if (named) return resolve(named);
  const caches = variables.XDG_CACHE_HOME;
  return join(caches && isAbsolute(caches) ? caches : join(homedir(), '.cache'), 'assay', 'store');
}
