// Builds what people install, from bin/assay.ts:
//
//   dist/node/assay.cjs   a bundle for Node, with lmdb's addon, chunks that a hit does not load, and the compiled code of
//                         those that it does load; `assets` are the files of the server's pages
//   dist/node/node        a link to the Node that the executable's server runs on
//   dist/assay            the same bundle, compiled by Bun into one executable; only `serve` needs dist/node
//   dist/packages.json    the npm packages that are in these files
//   dist/orders           which code of the executable hits call, as Bun recorded it
//
// and the library (build-library.ts). docs/decisions/0030 has the measurements behind each choice for a fast
// start.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { rolldown } from 'rolldown';
import { INDEX } from '../client/limits.ts';
import { buildLibrary } from './build-library.ts';
import { embeddedPages } from './embedded-pages.ts';
import { BUN, compileExecutable } from './executable.ts';
import { LATE_ENTRY, lateFiles, lateModules } from './late.ts';
import { leanLmdb, writeAddon } from './lean-lmdb.ts';
import { ADDON } from './lmdb-addon.ts';
import { packagesIn } from './packages-in.ts';
import { progress } from './progress.ts';

const ROOT = join(import.meta.dirname, '..');
const PACKAGES = join(ROOT, 'node_modules');
const BUNDLE = join(ROOT, 'dist/node');
const WINGS = join(ROOT, 'wings');
const ENTRY = join(BUNDLE, 'assay.cjs');
const EXECUTABLE = join(ROOT, 'dist/assay');
const ORDERS = join(ROOT, 'dist/orders');

const NODE = join(PACKAGES, `node-linux-${process.arch}/bin/node`);

/**
 * Each file costs Node half a millisecond, so each of these is one file with all its imports: what every
 * command and an up-to-date graph need; what a hit of one action needs in addition; the store. The rest is
 * split by its imports.
 */
const START = [
  'bin/assay.ts',
  'client/commands/run.ts',
  'client/up-to-date/run-unless-up-to-date.ts',
  'client/graph/command.ts',
].map((name) => join(ROOT, name));
const HIT = ['client/run/caches.ts', 'client/run/cache-modes.ts', 'client/run/run.ts'].map((name) =>
  join(ROOT, name),
);
const STORE = [join(ROOT, 'store/')];

function startsWithOne(starts: readonly string[]): (id: string) => boolean {
  return (id) => starts.some((start) => id.startsWith(start));
}

/** Returns the packages that are in it. */
async function bundle(): Promise<readonly string[]> {
  rmSync(BUNDLE, { recursive: true, force: true });
  const build = await rolldown({
    input: { main: join(ROOT, 'bin/assay.ts'), late: LATE_ENTRY },
    cwd: ROOT,
    platform: 'node',
    // A bundler does not see the imports of its main file.
    resolve: { alias: { 'jsonc-parser': join(PACKAGES, 'jsonc-parser/lib/esm/main.js') } },
    plugins: [leanLmdb('cjs'), embeddedPages, lateModules, lateFiles],
    onLog(level, { code, message }) {
      const isExpected = code === 'INEFFECTIVE_DYNAMIC_IMPORT'; // a module of the store that the server imports at once
      if (level === 'warn' && !isExpected) throw new Error(`rolldown: ${message}`);
    },
  });
  const { output } = await build.write({
    dir: BUNDLE,
    format: 'cjs',
    minify: true,
    entryFileNames: '[name].cjs',
    chunkFileNames: '[name]-[hash].cjs',
    codeSplitting: {
      groups: [
        { name: 'start', test: startsWithOne(START), priority: 2 },
        { name: 'hit', test: startsWithOne(HIT), priority: 1 },
        { name: 'store', test: startsWithOne(STORE) },
      ],
    },
  });
  writeAddon(BUNDLE);
  return packagesIn(output);
}

/** Packages of which files are copied. */
const ASSET_PACKAGES = ['uplot'];

/** What browsers load from a wing that has pages: one script, and files that are copied. */
async function bundleAssets(pages: string): Promise<void> {
  const { ASSET_FILES }: { ASSET_FILES: Readonly<Record<string, string>> } = await import(
    join(pages, 'assets.ts')
  );
  const folder = join(BUNDLE, 'assets');
  const build = await rolldown({ input: join(pages, '../browser/main.ts'), platform: 'browser' });
  await build.write({ file: join(folder, 'main.js'), format: 'esm', minify: true });
  for (const [name, path] of Object.entries(ASSET_FILES)) cpSync(join(pages, path), join(folder, name));
  cpSync(join(PACKAGES, 'uplot/LICENSE'), join(folder, 'uplot-LICENSE'));
}

/** The thread of a wing: one file beside the bundle, named after the wing. Returns the packages that are in it. */
async function bundleWorker(worker: string): Promise<readonly string[]> {
  const resolve = { mainFields: ['module', 'main'] }; // unused parts of an ES module are left out
  const build = await rolldown({ input: join(WINGS, worker), cwd: ROOT, platform: 'node', resolve });
  const file = join(BUNDLE, `${dirname(worker)}-worker.cjs`);
  const { output } = await build.write({ file, format: 'cjs', minify: true });
  return packagesIn(output);
}

/** The entry. It tells Node where the compiled code of the other files is. */
function writeEntry(): void {
  const lines = [
    "require('node:module').enableCompileCache({ directory: __dirname + '/compiled', portable: true });",
    "require('./main.cjs');",
    '',
  ];
  writeFileSync(ENTRY, lines.join('\n'));
}

/** Runs a hit of an action and a hit of a step in one process, so that Node keeps their compiled code. */
const HITS = `
  require('node:module').enableCompileCache({ directory: process.env.COMPILED, portable: true });
  process.exit = () => {};
  const { main } = require(process.env.MAIN);
  main(JSON.parse(process.env.ACTION)).then(() => main(JSON.parse(process.env.STEP)));`;

/** A workspace in which an action and a step have run until they are up to date. */
interface Scene {
  readonly action: readonly string[];
  readonly step: readonly string[];
  run(command: readonly [string, ...string[]], variables: NodeJS.ProcessEnv): void;
}

async function inSceneOfHits(use: (scene: Scene) => void): Promise<void> {
  const scratch = mkdtempSync(join(tmpdir(), 'assay-build-'));
  const workspace = join(scratch, 'workspace');
  const flags = ['run', '--store', join(scratch, 'store')];
  const scene: Scene = {
    action: [...flags, '--output', 'made', '--', 'touch', 'made'],
    step: [...flags, 'build'],
    run: ([file, ...args], variables) => {
      const env = { PATH: process.env.PATH, ...variables };
      execFileSync(file, args, { cwd: workspace, env, stdio: 'ignore' });
    },
  };
  try {
    mkdirSync(workspace);
    writeFileSync(
      join(workspace, 'assay.json'),
      '{ "steps": { "build": { "command": "touch built", "outputs": ["built"] } } }',
    );
    for (const args of [scene.action, scene.step, scene.action, scene.step]) {
      scene.run([process.execPath, ENTRY, ...args], { NODE_DISABLE_COMPILE_CACHE: '1' });
      await sleep(2 * INDEX.granularityMs); // a step is remembered when what it looked at has settled
    }
    use(scene);
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

/** Node keeps the code that the first run compiled, so that run must be a hit. */
function keepCompiledCode({ action, step, run }: Scene): void {
  run([process.execPath, '-e', HITS], {
    ACTION: JSON.stringify(action),
    STEP: JSON.stringify(step),
    COMPILED: join(BUNDLE, 'compiled'),
    MAIN: join(BUNDLE, 'main.cjs'),
  });
  letEveryoneRead(join(BUNDLE, 'compiled'));
}

/** Node makes these files readable only by the user who ran it. */
function letEveryoneRead(folder: string): void {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) chmodSync(join(entry.parentPath, entry.name), 0o644);
  }
}

/**
 * Bun places the functions that a hit calls side by side at the front, once it has recorded hits. The records stay
 * for a release, which compiles the executable of the other architecture where no hit can be recorded.
 */
function compileForHits({ action, step, run }: Scene): void {
  progress('compiling the executable, to see which code hits call');
  compileExecutable({ bundle: BUNDLE, executable: EXECUTABLE, orders: [] });
  rmSync(ORDERS, { recursive: true, force: true });
  mkdirSync(ORDERS);
  const orders = Object.entries({ step, action }).map(([name, args]) => {
    const order = join(ORDERS, name);
    run([EXECUTABLE, ...args], { BUN_BYTECODE_ORDER_OUT: order });
    return order;
  });
  progress('compiling it again, with that code first');
  compileExecutable({ bundle: BUNDLE, executable: EXECUTABLE, orders });
}

for (const needed of [ADDON, BUN, NODE]) {
  if (!existsSync(needed))
    throw new Error(`${needed} is missing: run \`npm ci\` with optional packages, on Linux`);
}
progress('bundling for Node, and the library with its types');
const packages = [...(await Promise.all([bundle(), buildLibrary()])).flat(), ...ASSET_PACKAGES];
for (const pages of globSync('*/pages', { cwd: WINGS })) await bundleAssets(join(WINGS, pages));
for (const worker of globSync('*/worker.ts', { cwd: WINGS })) packages.push(...(await bundleWorker(worker)));
writeFileSync(join(ROOT, 'dist/packages.json'), JSON.stringify([...new Set(packages)].sort()));
writeEntry();
symlinkSync(relative(BUNDLE, NODE), join(BUNDLE, 'node'));
progress('running a step and an action until they hit');
await inSceneOfHits((scene) => {
  progress('keeping the compiled code of hits');
  keepCompiledCode(scene);
  compileForHits(scene);
});
progress('built dist/assay, dist/node and dist/lib');
