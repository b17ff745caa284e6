// A plugin of rolldown for lmdb: the addon lies beside the bundle, and encoders that Assay never calls are
// left out.
//
// lmdb looks for its addon near its own sources, which a bundle does not have. It also loads encoders for
// values and keys. Assay passes bytes for both, so the encoders are replaced by functions that throw.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin } from 'rolldown';
import { mendedAddon } from './lmdb-addon.ts';

export const ADDON_NAME = 'lmdb.node';
const ADDON = `./${ADDON_NAME}`;

const LOADER = join(import.meta.dirname, '../store/disk/index/lmdb-addon.ts');

/** An ES module can't require an addon directly, and CommonJS has no `import.meta` to locate it. */
const LOOKUPS = {
  cjs: `
    import { loadAddon } from '${LOADER}';
    const addon = loadAddon(() => require('${ADDON}'));
    export default () => addon;`,
  esm: `
    import { createRequire } from 'node:module';
    export default () => createRequire(import.meta.url)('${ADDON}');`,
} as const;

const ENCODERS: Readonly<Record<string, string>> = {
  msgpackr: `
    export class Encoder {
      constructor() { throw new Error('the bundle has no encoder of values: open lmdb with encoding "binary"'); }
    }`,
  'ordered-binary': `
    const refuse = () => { throw new Error('the bundle has no encoder of keys: open lmdb with keyEncoding "binary"'); };
    export { refuse as compareKeys, refuse as fromBufferKey, refuse as readKey, refuse as toBufferKey, refuse as writeKey };
    export const enableNullTermination = () => {};`,
};

export function leanLmdb(format: keyof typeof LOOKUPS): Plugin {
  const replacements: Readonly<Record<string, string>> = {
    'node-gyp-build-optional-packages': LOOKUPS[format],
    ...ENCODERS,
  };
  return {
    name: 'lean-lmdb',
    resolveId(id) {
      if (id === ADDON) return { id, external: 'relative' };
      return Object.hasOwn(replacements, id) ? `\0${id}` : null;
    },
    load(id) {
      return replacements[id.replace(/^\0/, '')] ?? null;
    },
  };
}

export function writeAddon(folder: string, addon: Buffer = mendedAddon()): void {
  writeFileSync(join(folder, ADDON_NAME), addon);
}
