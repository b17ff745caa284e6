// Makes what people install, from what `npm run build` has made: dist/assay-VERSION-linux-ARCH.tgz, for `npm install`.
//
//   npm run package                     for an address or a file: nobody can publish it by mistake
//   npm run package -- @our-team/assay  the same for a registry, under a name that is yours there
//
// It holds the executable with its helpers, the Node and the bundle that the executable's server runs as, and the library. It
// needs no other package, so nothing else is fetched. All of it is machine code of this architecture, which npm compares with
// the machine before it installs.
//
// There is no `assay` of ours in the public registry. A name without a scope is refused here, because whoever registers it
// there would be asked for it by every machine that does not know your registry.
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { progress } from './progress.ts';

const ROOT = join(import.meta.dirname, '..');
const DIST = join(ROOT, 'dist');

const CONTENT = [
  'dist/assay',
  'dist/assay-trace',
  'dist/assay-vary',
  'dist/node',
  'dist/lib',
  'README.md',
  'CHANGELOG.md',
  'LICENSE',
];

/** Projects name this path in `"$schema"`, so it stays as it is in every version of the package. */
const SCHEMA = { source: 'client/config/assay.schema.json', installed: 'schema/assay.schema.json' };

/** What Node comes with; a Debian package or an image made of this one has to pass it on. */
const NODE_LICENSE = join(ROOT, `node_modules/node-linux-${process.arch}/LICENSE`);

/** The compiled code of the bundle makes hits quick, and hits are the executable's. */
function isInstalled(path: string): boolean {
  return path !== join(DIST, 'node/compiled') && path !== join(DIST, 'node/assay.cjs');
}

const SCOPED = /^@[a-z0-9~-][a-z0-9._~-]*\/[a-z0-9~-][a-z0-9._~-]*$/;

interface Manifest {
  readonly [field: string]: unknown;
  readonly exports: Readonly<Record<string, unknown>>;
}

function manifest(name: string | undefined) {
  const { version, description, license, type, exports }: Manifest = JSON.parse(
    readFileSync(join(ROOT, 'package.json'), 'utf8'),
  );
  return {
    name: name ?? 'assay',
    version,
    description,
    license,
    type,
    exports: { ...exports, './schema.json': `./${SCHEMA.installed}` },
    ...(name === undefined && { private: true }),
    bin: { assay: 'dist/assay' },
    os: ['linux'],
    cpu: [process.arch],
    libc: ['glibc'],
  };
}

/** The same files give the same package. `npm pack` takes half as long again and packs no better. */
const AS_NPM_PACKS = [
  '--create',
  '--gzip',
  '--sort=name',
  '--mtime=1985-10-26T08:15:00Z',
  '--owner=0',
  '--group=0',
  '--numeric-owner',
  '--mode=go+rX,go-w',
  '--transform=s,^,package/,S',
  '--checkpoint=2000',
  '--checkpoint-action=dot',
];

function pack(name: string | undefined): string {
  const about = manifest(name);
  const folder = mkdtempSync(join(DIST, 'package-'));
  progress('copying what is installed');
  try {
    for (const path of CONTENT) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      cpSync(join(ROOT, path), join(folder, path), {
        recursive: true,
        dereference: true,
        filter: isInstalled,
      });
    }
    cpSync(join(ROOT, SCHEMA.source), join(folder, SCHEMA.installed));
    cpSync(NODE_LICENSE, join(folder, 'dist/node/LICENSE'));
    writeFileSync(join(folder, 'package.json'), `${JSON.stringify(about, null, 2)}\n`);
    const packed = join(folder, 'packed.tgz');
    progress('packing, a dot for every 20 MB');
    const args = [...AS_NPM_PACKS, `--file=${packed}`, `--directory=${folder}`, ...readdirSync(folder)];
    execFileSync('tar', args, { stdio: ['ignore', 2, 2] });
    process.stderr.write('\n');
    const made = join(DIST, `assay-${about.version}-linux-${process.arch}.tgz`);
    renameSync(packed, made);
    return made;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const [name, ...rest] = process.argv.slice(2);
if (rest.length > 0 || (name !== undefined && !SCOPED.test(name)))
  throw new Error('the name must be one of your own scope: npm run package -- @our-team/assay');
const missing = CONTENT.find((path) => !existsSync(join(ROOT, path)));
if (missing !== undefined) throw new Error(`${missing} is not there: run npm run build`);
process.stdout.write(`${pack(name)}\n`);
