// Finds the run whose command started this one: an ancestor of this process that has a file of job slots open.
// Environment variables would not do: a script may clear them.
import { readdirSync, readlinkSync } from 'node:fs';
import { ancestors } from '../../system/process/process-identity.ts';

/** In the client folder. A lock of a byte is a slot. */
export const SLOTS_FILE = 'job-slots';

/** `clean --memory` may have removed the file while it is open. */
const LINK = new RegExp(`/client(?:-\\d+)?/${SLOTS_FILE}(?: \\(deleted\\))?$`);

/** The ancestor's open file, as a path that opens the same file again; undefined if no command of a run started this one. */
export function slotsOfEnclosingRun(): string | undefined {
  for (const pid of ancestors()) {
    const folder = `/proc/${pid}/fd`;
    const found = attempt(() => readdirSync(folder), []).find((name) =>
      LINK.test(attempt(() => readlinkSync(`${folder}/${name}`), '')),
    );
    if (found !== undefined) return `${folder}/${found}`;
  }
  return undefined;
}

/** Files of a process of another user cannot be read, and any process may end. */
function attempt<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
