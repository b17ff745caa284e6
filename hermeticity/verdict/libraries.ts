// The libraries that an action's programs may have searched for: every name of a library in the trace,
// wherever it was found or missed. The dynamic loader looks a name up in /etc/ld.so.cache, in memory. Then it
// opens the file that the cache names, or tries the system's library folders. So every name that it looked up
// is in the trace.
import type { Access } from '../trace/access.ts';

const LIBRARY = /[^/]+\.so(?:\.[^/]*)?$/;

export function librariesIn(accesses: readonly Access[]): ReadonlySet<string> {
  const names = new Set<string>();
  for (const access of accesses) {
    // The loader's own settings look like libraries: /etc/ld.so.cache, /etc/ld.so.preload.
    if (!('path' in access) || access.path.startsWith('/etc/')) continue;
    for (const path of [access.path, 'asked' in access ? access.asked : undefined]) {
      const name = path === undefined ? undefined : LIBRARY.exec(path)?.[0];
      if (name !== undefined) names.add(name);
    }
  }
  return names;
}
