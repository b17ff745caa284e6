// Builds the library that programs import, from bin/library.ts:
//
//   dist/lib/assay.js   an ES module without dependencies, with lmdb's addon and its chunks beside it
//   dist/lib/types      its declarations, which need only @types/node
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { rolldown } from 'rolldown';
import { leanLmdb, writeAddon } from './lean-lmdb.ts';
import { packagesIn } from './packages-in.ts';

const ROOT = join(import.meta.dirname, '..');
const ENTRY = join(ROOT, 'bin/library.ts');
const LIBRARY = join(ROOT, 'dist/lib');
const TYPES = join(LIBRARY, 'types');

/** Encoders stand beside the message types and are private. */
const CODECS = 'import { BinaryReader, BinaryWriter } from "@bufbuild/protobuf/wire";';
const NO_CODECS = 'type BinaryReader = unknown;\ntype BinaryWriter = unknown;';

/** Returns the packages that are in it. */
export async function buildLibrary(): Promise<readonly string[]> {
  rmSync(LIBRARY, { recursive: true, force: true });
  const build = await rolldown({
    input: { assay: ENTRY },
    cwd: ROOT,
    platform: 'node',
    plugins: [leanLmdb('esm')],
    onLog(level, { code, message }) {
      if (level === 'warn' && code !== 'INEFFECTIVE_DYNAMIC_IMPORT') throw new Error(`rolldown: ${message}`);
    },
  });
  const { output } = await build.write({
    dir: LIBRARY,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
  });
  writeAddon(LIBRARY);
  declare();
  keepWhatIsShown();
  return packagesIn(output);
}

/** Sources import each other by file name, and the declarations lie beside each other in the same way. */
function declare(): void {
  const options = [
    '--declaration',
    '--emitDeclarationOnly',
    '--allowImportingTsExtensions',
    '--skipLibCheck',
  ];
  // The types of wings reach the server, which must not see the types of browsers.
  const language = [
    ...['--target', 'esnext', '--lib', 'esnext', '--module', 'nodenext'],
    ...['--strict', '--exactOptionalPropertyTypes'],
  ];
  const places = ['--types', 'node', '--rootDir', ROOT, '--outDir', TYPES];
  execFileSync(
    join(ROOT, 'node_modules/.bin/tsc'),
    ['--ignoreConfig', ...options, ...language, ...places, ENTRY],
    {
      cwd: ROOT,
      stdio: ['ignore', 'inherit', 'inherit'],
    },
  );
}

/** Only declarations that the entry reaches: the others name packages that an importer does not have. */
function keepWhatIsShown(): void {
  const shown = new Set<string>();
  show(join(TYPES, 'bin/library.d.ts'), shown);
  for (const entry of readdirSync(TYPES, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    if (entry.isFile() && !shown.has(file)) rmSync(file);
  }
}

function show(file: string, shown: Set<string>): void {
  if (shown.has(file)) return;
  shown.add(file);
  const text = readFileSync(file, 'utf8').replace(CODECS, NO_CODECS);
  writeFileSync(file, text);
  for (const [, name = ''] of text.matchAll(/(?:from|import\(?)\s*["']([^"']+)["']/g)) {
    if (name.startsWith('.')) show(join(dirname(file), name.replace(/\.ts$/, '.d.ts')), shown);
    else if (!name.startsWith('node:'))
      throw new Error(`${file} imports ${name}, which users of the library do not have`);
  }
}
