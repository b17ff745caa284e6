// Builds what programs import, from client/library.ts:
//
//   dist/lib/assay.js   an ES module; the packages that it needs are those that package.json names
//   dist/lib/types      its declarations
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';

const ROOT = join(import.meta.dirname, '..');
const ENTRY = join(ROOT, 'client/library.ts');
const LIBRARY = join(ROOT, 'dist/lib');

export async function buildLibrary(): Promise<void> {
  rmSync(LIBRARY, { recursive: true, force: true });
  const build = await rolldown({
    input: { assay: ENTRY },
    cwd: ROOT,
    platform: 'node',
    external: (id) => !id.startsWith('.') && !id.startsWith('/'),
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
  declare();
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
  const places = ['--types', 'node', '--rootDir', ROOT, '--outDir', join(LIBRARY, 'types')];
  execFileSync(
    join(ROOT, 'node_modules/.bin/tsc'),
    ['--ignoreConfig', ...options, ...language, ...places, ENTRY],
    {
      cwd: ROOT,
      stdio: ['ignore', 'inherit', 'inherit'],
    },
  );
}
