// Loads lmdb's addon in the bundles. The executable holds the addon in itself, and Bun unpacks it into TMPDIR. Where that folder is missing,
// full, read-only or `noexec`, it is unpacked elsewhere, and removed as soon as it is loaded.
//
// Where no folder will do, the addon can't be had. Then opening a store fails, and nothing before that: a run goes on without one.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bun } from '../../../core/bun.ts';

/** `load` is the ordinary way. */
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
  for (const place of [...usual, XDG_RUNTIME_DIR, ASSAY_STORE, XDG_CACHE_HOME, HOME]) {
    const addon = place && tryIn(place, `/$bunfs/root/${name}`);
    if (addon) return addon;
  }
  return undefined;
}

function tryIn(place: string, embedded: string): unknown {
  let folder: string | undefined;
  try {
    folder = mkdtempSync(join(place, 'assay-addon-'));
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

/** All that lmdb asks of its addon before somebody opens an index. */
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
