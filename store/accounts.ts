// Accounts: sets of namespaces that have a quota, a floor, or both, as the settings name them.
// A namespace belongs to the nearest prefix at or above it that an account names.
import type { SizeLimit } from './size-limit.ts';

export interface AccountSettings {
  readonly name: string;
  /** Everything at or below one of these counts. */
  readonly namespaces: readonly string[];
  /** A share is of the store's limit. */
  readonly quota?: SizeLimit | undefined;
  readonly floor?: SizeLimit | undefined;
}

/** What an account holds now, for pages and metrics. */
export interface AccountUse {
  readonly name: string;
  readonly namespaces: readonly string[];
  readonly bytes: number;
  readonly quota: number;
  readonly floor: number;
  readonly hasQuota: boolean;
  readonly hasFloor: boolean;
}

/** No tenant has a "/" in its name, so no tenant has the name of a holder. */
export const HOLDER = '/';

export function isHolderName(name: string): boolean {
  return name.startsWith(HOLDER);
}

export function isHolderAtOrBelow(path: string, base: string): boolean {
  return path === base || path.startsWith(`${base}/`);
}

/** Of the longest prefix of a namespace that has one. */
export function nearestIn<T>(byPrefix: ReadonlyMap<string, T>, path: string): T | undefined {
  for (let end = path.length; end > 0; end = path.lastIndexOf('/', end - 1)) {
    const found = byPrefix.get(path.slice(0, end));
    if (found) return found;
  }
  return undefined;
}
