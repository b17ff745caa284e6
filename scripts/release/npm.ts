// Packages for npm. Each is one file that needs no other package and no network, and that is never asked for by name
// at a registry. It holds machine code, so npm checks the machine's architecture first.
//
// Guarantee: the same files give the same bytes. `npm pack` takes 1.5 times as long and packs no better.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { manPage } from '../man-page.ts';
import { progress } from '../progress.ts';
import { installDocs } from './docs.ts';
import { installClient, installLibrary, installSchemas, installServer } from './install-tree.ts';
import { notices } from './licences.ts';
import type { Parts } from './parts.ts';
import { DIST, PACKAGING, PROJECT, ROOT } from './places.ts';

const MAN_PAGE = 'man/assay.1';

/** The command, the library, the schemas and the man page. `name`: in a registry of yours; without it npm publishes nothing. */
export function packClient(parts: Parts, folder: string, name?: string): string {
  const schemas = {
    './schema.json': './schema/assay.schema.json',
    './server-schema.json': './schema/server.schema.json',
    './answers-schema.json': './schema/answers.schema.json',
  };
  return pack('assay', parts, folder, (root) => {
    installClient(join(root, 'dist'), parts);
    installLibrary(join(root, 'dist/lib'), parts);
    installSchemas(join(root, 'schema'));
    mkdirSync(join(root, dirname(MAN_PAGE)));
    writeFileSync(join(root, MAN_PAGE), manPage(join(DIST, 'assay'), PROJECT.version));
    return {
      ...about(name ?? 'assay', name === undefined),
      type: 'module',
      exports: { ...PROJECT.exports, ...schemas },
      bin: { assay: 'dist/assay-start' },
      man: [MAN_PAGE],
    };
  });
}

/** The server with its Node. It holds every command, but no tracer: it is not for runs. */
export function packServer(parts: Parts, folder: string, name?: string): string {
  return pack('assay-server', parts, folder, (root) => {
    installServer(join(root, 'dist'), parts);
    installSchemas(join(root, 'schema'), ['server.schema.json']);
    return {
      ...about(name === undefined ? 'assay-server' : `${name}-server`, name === undefined),
      bin: { 'assay-server': 'dist/assay-server' },
    };
  });
}

function about(name: string, isPrivate: boolean) {
  const { version, description, license } = PROJECT;
  return { name, version, description, license, ...(isPrivate && { private: true }) };
}

/**
 * `assay` for both architectures: a starter, and beside this file the packages of the client. npm looks for a `file:` of
 * a package where it found that package's own file, takes the one for its machine, and asks no registry.
 */
export function packChooser(architectures: readonly string[], folder: string): string {
  const made = join(folder, `assay-${PROJECT.version}.tgz`);
  const clients = architectures.map((arch) => [
    `assay-linux-${arch}`,
    `file:./assay-${PROJECT.version}-linux-${arch}.tgz`,
  ]);
  packTree(made, (root) => {
    cpSync(join(PACKAGING, 'npm/assay'), join(root, 'assay'));
    cpSync(join(ROOT, 'LICENSE'), join(root, 'LICENSE'));
    const manifest = {
      ...about('assay', true),
      bin: { assay: 'assay' },
      os: ['linux'],
      optionalDependencies: Object.fromEntries(clients),
    };
    writeFileSync(join(root, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  });
  return made;
}

function pack(
  title: string,
  { kind }: Parts,
  target: string,
  fill: (root: string) => Readonly<Record<string, unknown>>,
): string {
  const made = join(target, `${title}-${PROJECT.version}-linux-${kind.arch}.tgz`);
  progress(`packing ${title} for ${kind.arch}`);
  packTree(made, (root) => {
    const manifest = { ...fill(root), os: ['linux'], cpu: [kind.arch], libc: ['glibc'] };
    installDocs(root);
    writeFileSync(join(root, 'NOTICES'), notices(kind.arch));
    writeFileSync(join(root, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  });
  return made;
}

/** The date that npm gives to all files. */
const MTIME = '1985-10-26T08:15:00Z';

/** Owned by root, in the order of names, with one date: nothing in it tells who packed it, or when. */
export const REPRODUCIBLE = [
  '--create',
  '--sort=name',
  '--owner=0',
  '--group=0',
  '--numeric-owner',
  '--mode=go+rX,go-w',
];

function packTree(made: string, fill: (root: string) => void): void {
  const root = mkdtempSync(join(DIST, 'package-'));
  try {
    fill(root);
    const options = [...REPRODUCIBLE, '--gzip', `--mtime=${MTIME}`, '--transform=s,^,package/,S'];
    execFileSync(
      'tar',
      [...options, `--file=${made}.partial`, `--directory=${root}`, ...readdirSync(root).sort()],
      { stdio: ['ignore', 2, 2] },
    );
    renameSync(`${made}.partial`, made);
  } finally {
    rmSync(root, { recursive: true });
  }
}
