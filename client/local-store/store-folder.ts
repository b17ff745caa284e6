// The path of the local store: --store, else ASSAY_STORE, else the user's XDG cache folder.
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';

export function storeFolder(flag: string | undefined, variables: Readonly<NodeJS.ProcessEnv>): string {
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
