// Loads lmdb's addon in the bundles. The executable contains the addon, and Bun unpacks it into TMPDIR. If
// that folder is missing, full, read-only or `noexec`, it is unpacked elsewhere, and removed once it is
// loaded.
//
// If no folder works, opening a store fails, and nothing before that: a run continues without a store.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bun } from '../../../core/bun.ts';

/** `load` is Bun's own way. */
export function loadAddon(load: () => unknown): unknown {
  try {
    return load();
  } catch (error) {
    return unpacked() ?? withoutAddon(error);
  }
}

function unpacked(): unknown {
  const name = bun?.embeddedFiles.find((file) => file.name.endsWith('.node'))?.name;
  if (name === undefined) return undefined;
  const { XDG_RUNTIME_DIR, ASSAY_STORE, XDG_CACHE_HOME, HOME } = process.env;
  const usual = ['/tmp', '/var/tmp', '/dev/shm'];
  for (const parent of [...usual, XDG_RUNTIME_DIR, ASSAY_STORE, XDG_CACHE_HOME, HOME]) {
    const addon = parent && tryIn(parent, `/$bunfs/root/${name}`);
    if (addon) return addon;
  }
  return undefined;
}

function tryIn(parent: string, embedded: string): unknown {
  let folder: string | undefined;
  try {
    folder = mkdtempSync(join(parent, 'assay-addon-'));
    const file = join(folder, 'lmdb.node');
    writeFileSync(file, readFileSync(embedded), { mode: 0o600 });
    const loaded: { exports: unknown } = { exports: {} };
    process.dlopen(loaded, file);
    return loaded.exports;
  } catch {
    return undefined;
  } finally {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  }
}

/** What lmdb uses of its addon before an index is opened. */
function withoutAddon(cause: unknown): unknown {
  return {
    version: { major: 0, minor: 0, patch: 0 },
    enableThreadSafeCalls() {},
    Env: class {
      constructor() {
        throw cause;
      }
    },
  };
}
