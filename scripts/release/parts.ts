// The parts of an installation for one kind of machine. Those for this machine are what `npm run build` made. Those for
// another kind come from cross-compilers, from Bun, which can start from another kind's Bun, and from npm.
// Guarantee: each program is of the kind that it was made for.
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { bunPackage, compileExecutable } from '../executable.ts';
import { writeAddon } from '../lean-lmdb.ts';
import { ADDON_FILE, addonPackage, mended } from '../lmdb-addon.ts';
import { progress } from '../progress.ts';
import { isOwn, type Kind } from './kinds.ts';
import { fetchLocked } from './locked.ts';
import { DIST, PARTS, ROOT } from './places.ts';

/** Programs in C by name, with the folder of their build script. That of a wing names the file that it makes. */
const HELPERS: Readonly<Record<string, string>> = {
  'assay-start': 'bin/start',
  'assay-trace': 'hermeticity/native',
  ...helpersOfWings(),
};

function helpersOfWings(): Record<string, string> {
  const scripts = globSync('wings/*/native/build.sh', { cwd: ROOT });
  const named = scripts.flatMap((script) => {
    const [, name] = /dist\/(assay-[a-z]+)/.exec(readFileSync(join(ROOT, script), 'utf8')) ?? [];
    return name === undefined ? [] : [[name, dirname(script)] as const];
  });
  return Object.fromEntries(named);
}

/** Names of files of the client, in the folder where it is installed. */
export const CLIENT_PROGRAMS: readonly string[] = ['assay', ...Object.keys(HELPERS)];

export interface Parts {
  readonly kind: Kind;
  /** The folder with the programs of the client. */
  readonly programs: string;
  /** Node's npm package, with its licence. */
  readonly node: string;
  /** lmdb's addon, patched. */
  readonly addon: Buffer;
  /** The folder with the pages that the server has at /docs. */
  readonly docs?: string;
}

/** Expects the output of `npm run build`. */
export function partsFor(kind: Kind): Parts {
  const parts = isOwn(kind) ? ownParts(kind) : foreignParts(kind);
  const node = join(parts.node, 'bin/node');
  for (const file of [...CLIENT_PROGRAMS.map((name) => join(parts.programs, name)), node]) {
    if (!existsSync(file)) throw new Error(`${file} is missing: run \`npm run build\``);
    if (machineOf(file) !== kind.machine) throw new Error(`${file} is not a program for ${kind.arch}`);
  }
  return parts;
}

function ownParts(kind: Kind): Parts {
  const packageFolder = (name: string) => join(ROOT, 'node_modules', name);
  const addon = readFileSync(join(packageFolder(addonPackage(kind.arch)), ADDON_FILE));
  return {
    kind,
    programs: DIST,
    node: packageFolder(`node-linux-${kind.arch}`),
    addon: mended(addon, kind.arch),
  };
}

function foreignParts(kind: Kind): Parts {
  progress(`packages of npm for ${kind.arch}`);
  const node = fetchLocked(`node-linux-${kind.arch}`);
  const bun = fetchLocked(bunPackage(kind.arch));
  const lmdb = fetchLocked(addonPackage(kind.arch));
  const addon = mended(readFileSync(join(lmdb, ADDON_FILE)), kind.arch);
  const programs = join(PARTS, kind.arch);
  rmSync(programs, { recursive: true, force: true });
  mkdirSync(programs, { recursive: true });
  progress(`compiling the helpers for ${kind.arch}`);
  for (const [name, folder] of Object.entries(HELPERS)) crossCompile(kind, folder, join(programs, name));
  progress(`compiling the executable for ${kind.arch}`);
  // Not in the folder of the helpers: the executable would look for them one folder above its bundle.
  const bundle = join(programs, 'bundle/node');
  copyBundle(bundle, addon);
  compileExecutable({
    bundle,
    executable: join(programs, 'assay'),
    orders: ['step', 'action'].map((name) => join(DIST, 'orders', name)),
    base: join(bun, 'bin/bun'),
  });
  return { kind, programs, node, addon };
}

function crossCompile({ arch, triplet }: Kind, folder: string, output: string): void {
  const compiler = `${triplet}-gcc`;
  execFileSync(join(ROOT, folder, 'build.sh'), [output], {
    env: { ...process.env, CC: compiler },
    stdio: ['ignore', 2, 2],
  });
  if (!existsSync(output))
    throw new Error(`${compiler} is missing: install gcc-${arch === 'x64' ? 'x86-64' : 'aarch64'}-linux-gnu`);
}

/** The bundle for Node without what only this machine uses. Compiled code speeds up hits, and hits run in the executable. */
export function copyBundle(folder: string, addon: Buffer): void {
  const left = ['node', 'compiled', 'assay.cjs'].map((name) => join(DIST, 'node', name));
  mkdirSync(dirname(folder), { recursive: true });
  cpSync(join(DIST, 'node'), folder, { recursive: true, filter: (path) => !left.includes(path) });
  writeAddon(folder, addon);
}

function machineOf(file: string): number {
  const head = Buffer.alloc(20);
  const open = openSync(file, 'r');
  readSync(open, head);
  closeSync(open);
  return head.readUInt16LE(18);
}
