// What is installed: the folders of the client and of the server, the same in each package format.
//
//   client   assay, assay-start, assay-trace, assay-vary
//   server   assay-server, node/, docs/
//
// Both fit into one folder. Then `assay serve` finds the Node of the server.
import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ADDON_NAME, writeAddon } from '../lean-lmdb.ts';
import { isOwn, type Kind } from './kinds.ts';
import { CLIENT_PROGRAMS, copyBundle, type Parts } from './parts.ts';
import { DIST, ROOT } from './places.ts';

export function installClient(folder: string, { programs }: Parts): void {
  mkdirSync(folder, { recursive: true });
  for (const name of CLIENT_PROGRAMS) copyFileSync(join(programs, name), join(folder, name));
}

/** The starter becomes Node where no executable lies beside it. The server looks for its pages beside `node/`. */
export function installServer(folder: string, { kind, programs, node, addon, docs }: Parts): void {
  const bundle = join(folder, 'node');
  copyBundle(bundle, addon);
  copyFileSync(join(node, 'LICENSE'), join(bundle, 'LICENSE'));
  strip(kind, join(bundle, ADDON_NAME));
  strip(kind, join(programs, 'assay-start'), join(folder, 'assay-server'));
  strip(kind, join(node, 'bin/node'), join(bundle, 'node'));
  if (docs !== undefined) cpSync(docs, join(folder, 'docs'), { recursive: true });
}

export function installLibrary(folder: string, { addon }: Parts): void {
  cpSync(join(DIST, 'lib'), folder, { recursive: true });
  writeAddon(folder, addon);
}

const SCHEMAS = {
  'assay.schema.json': 'client/config/assay.schema.json',
  'server.schema.json': 'server/config/server.schema.json',
  'answers.schema.json': 'client/short/answers.schema.json',
};

/** Projects and servers name these paths in `"$schema"`, so they never change. */
export function installSchemas(folder: string, names = Object.keys(SCHEMAS)): void {
  mkdirSync(folder, { recursive: true });
  for (const [name, source] of Object.entries(SCHEMAS))
    if (names.includes(name)) cpSync(join(ROOT, source), join(folder, name));
}

/** Without symbols that only a debugger reads, Node takes 33 of 150 MB less (docs/decisions/0550). */
function strip(kind: Kind, source: string, target = source): void {
  const program = isOwn(kind) ? 'strip' : `${kind.triplet}-strip`;
  execFileSync(program, ['--strip-unneeded', '-o', target, source], { stdio: ['ignore', 2, 'pipe'] });
}
