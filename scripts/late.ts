// Plugins of rolldown that delay the loading of modules until their first call. A hit imports these modules
// without calling them, and starts faster without them (docs/decisions/0030).
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Plugin } from 'rolldown';

const ROOT = join(import.meta.dirname, '..');
const PACKAGES = join(ROOT, 'node_modules');
const LATE = '\0late:';

/**
 * Node modules that take milliseconds to load and that a hit imports but never calls. The bundle loads them
 * at the first call of a function, or the first access to a table.
 */
const LATE_MODULES = [
  'node:buffer',
  'node:child_process',
  'node:crypto',
  'node:fs/promises',
  'node:os',
  'node:tty',
  'node:util',
];

export const lateModules: Plugin = {
  name: 'late-modules',
  resolveId(id, importer) {
    const isOurs = importer !== undefined && !importer.startsWith(PACKAGES);
    return isOurs && LATE_MODULES.includes(id) ? LATE + id : null;
  },
  load(id) {
    const name = id.slice(LATE.length);
    return id.startsWith(LATE) && LATE_MODULES.includes(name) ? lateModule(name) : null;
  },
};

function lateModule(name: string): string {
  const exports: object = createRequire(import.meta.url)(name);
  const names = (type: string) =>
    Object.entries(exports).flatMap(([key, value]) =>
      typeof value === type && key !== 'default' ? [key] : [],
    );
  return [
    `const loaded = () => process.getBuiltinModule(${JSON.stringify(name)});`,
    "const custom = Symbol.for('nodejs.util.promisify.custom');", // execFile and others are promisified their own way
    'const late = (key) =>',
    '  Object.defineProperty((...given) => loaded()[key](...given), custom, { get: () => loaded()[key][custom] });',
    ...names('function').map((key) => `export const ${key} = /* @__PURE__ */ late('${key}');`),
    'const lateTable = (key) => new Proxy({}, { get: (_, name) => loaded()[key][name] });',
    ...names('object').map((key) => `export const ${key} = /* @__PURE__ */ lateTable('${key}');`),
  ].join('\n');
}

/**
 * Modules of a run that a hit does not need. The bundle puts them into separate files and loads those at the
 * first call. The sources import them normally. A synchronous function such as `seal` can be delayed too,
 * because CommonJS loads synchronously. Only functions can be delayed.
 */
const LATE_FILES = [
  'client/run/execute.ts',
  'client/run/explain.ts',
  'client/inputs/scan.ts',
  'client/outputs/output-lock.ts',
  'client/run/publish.ts',
  'client/retry/tries.ts',
  'client/outputs/restore.ts',
  'client/run/seal.ts',
  'store/actions/miss-text.ts',
  'store/actions/miss.ts',
  'core/small-sha256.ts',
].map((name) => join(ROOT, name));

/** A package that a hit needs only for patterns. */
const LATE_PACKAGE = 'picomatch';

export const LATE_ENTRY = '\0late-files';
const LATE_CHUNK = './late.cjs';

export const lateFiles: Plugin = {
  name: 'late-files',
  async resolveId(id, importer) {
    if (id === LATE_ENTRY) return id;
    if (id === LATE_CHUNK) return { id, external: true };
    if (importer === undefined || importer === LATE_ENTRY || LATE_FILES.includes(importer)) return null;
    if (id === LATE_PACKAGE) return LATE + id;
    const file = join(importer, '..', id);
    return LATE_FILES.includes(file) ? LATE + file : null;
  },
  load(id) {
    if (id === LATE_ENTRY) return [...LATE_FILES.map(exportAll), exportPackage()].join('\n');
    const file = id.slice(LATE.length);
    if (file === LATE_PACKAGE) return latePackage();
    return LATE_FILES.includes(file) ? lateFile(file) : null;
  },
};

function exportAll(file: string): string {
  return `export * from ${JSON.stringify(file)};`;
}

function exportPackage(): string {
  return `export { default as ${LATE_PACKAGE} } from ${JSON.stringify(LATE_PACKAGE)};`;
}

/** Its functions, and its default export, which is a function too. */
function latePackage(): string {
  const exports: object = createRequire(import.meta.url)(LATE_PACKAGE);
  const loaded = `require('${LATE_CHUNK}').${LATE_PACKAGE}`;
  const functions = Object.entries(exports).filter(([, value]) => typeof value === 'function');
  const late = functions.map(([key]) => `${key}: (...given) => ${loaded}.${key}(...given)`);
  return `export default Object.assign((...given) => ${loaded}(...given), { ${late.join(', ')} });`;
}

function lateFile(file: string): string {
  const source = readFileSync(file, 'utf8');
  if (/^export (?!interface|type|(async )?function)/m.test(source)) {
    throw new Error(`${file} exports more than functions and types, so it can't be loaded late`);
  }
  const names = [...source.matchAll(/^export (?:async )?function (\w+)/gm)].map(([, name]) => name);
  return names
    .map((name) => `export const ${name} = (...given) => require('${LATE_CHUNK}').${name}(...given);`)
    .join('\n');
}
