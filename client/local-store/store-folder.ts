// The path of the local store: --store, else ASSAY_STORE, else the user's XDG cache folder.
import { existsSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { AssayError } from '../../core/errors.ts';
import type { Variables } from '../action/environment.ts';

export function storeFolder(flag: string | undefined, variables: Variables): string {
  const named = flag ?? variables.ASSAY_STORE;
  if (named) return resolve(named);
  const caches = variables.XDG_CACHE_HOME;
  const base = caches && isAbsolute(caches) ? caches : join(homeFolder(), '.cache');
  return join(base, 'assay', 'store');
}

/**
 * A user without a home gets /dev/null: no store can be created below it, and the run goes on without one.
 */
export function homeFolder(): string {
  try {
    return process.env.HOME || homedir();
  } catch {
    return '/dev/null';
  }
}

/** For commands that examine a store: opening would create an empty one. */
export function refuseIfNoStore(folder: string): void {
  const isThere = existsSync(folder) && readdirSync(folder).some((name) => /^v\d+$/.test(name));
  if (!isThere) throw new AssayError('ASSAY_NO_STORE', `${folder} holds no store`);
}
