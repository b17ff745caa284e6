// Builds what programs import, from client/library/library.ts:
//
//   dist/lib/assay.js   an ES module that needs no package; what it needs lies beside it: lmdb's addon and chunks
//   dist/lib/types      its declarations, which need none either but @types/node
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { rolldown } from 'rolldown';
import { leanLmdb, writeAddon } from './lean-lmdb.ts';

const ROOT = join(import.meta.dirname, '..');
const ENTRY = join(ROOT, 'client/library/library.ts');
const LIBRARY = join(ROOT, 'dist/lib');
const TYPES = join(LIBRARY, 'types');

/** How messages are written on the wire stands beside their types, and is for nobody outside. */
const CODECS = 'import { BinaryReader, BinaryWriter } from "@bufbuild/protobuf/wire";';
const NO_CODECS = 'type BinaryReader = unknown;\ntype BinaryWriter = unknown;';

export async function buildLibrary(): Promise<void> {
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
  await build.write({
    dir: LIBRARY,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
  });
  writeAddon(LIBRARY);
  declare();
  keepWhatIsShown();
}

/** The sources import each other by their names, which declarations beside each other answer to as well. */
function declare(): void {
  const options = [
    '--declaration',
    '--emitDeclarationOnly',
    '--allowImportingTsExtensions',
    '--skipLibCheck',
  ];
  const language = ['--target', 'esnext', '--module', 'nodenext', '--strict', '--exactOptionalPropertyTypes'];
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

/** Declarations that the entry's lead to, and no others: the rest names packages that nobody who imports Assay has. */
function keepWhatIsShown(): void {
  const shown = new Set<string>();
  show(join(TYPES, 'client/library/library.d.ts'), shown);
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
      throw new Error(`${file} shows ${name}, which nobody has who imports it`);
  }
}
