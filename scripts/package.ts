// Makes the file that people install, from the output of `npm run build`: dist/assay-VERSION-linux-ARCH.tgz.
//
//   npm run package                     for an address or a file; it cannot be published by mistake
//   npm run package -- @our-team/assay  for a registry, under a name in your scope
//
// It holds the executable with its helpers, the starter that is installed as `assay`, the Node and the bundle
// that `assay serve` runs on, the library, and a man page. It needs no other package, so npm downloads nothing else. It
// holds machine code, so npm checks the machine's architecture first.
//
// Assay is not in the public registry. A name without a scope is refused: machines that do not know your
// registry would ask the public one for it, and anybody can register it there.
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { manPage } from './man-page.ts';
import { progress } from './progress.ts';

const ROOT = join(import.meta.dirname, '..');
const DIST = join(ROOT, 'dist');

const CONTENT = [
  'dist/assay',
  'dist/assay-start',
  'dist/assay-trace',
  ...helpersOfWings(),
  'dist/node',
  'dist/lib',
  'README.md',
  'CHANGELOG.md',
  'LICENSE',
];

/** The build script of each names the file that it makes. */
function helpersOfWings(): string[] {
  return globSync('wings/*/native/build.sh', { cwd: ROOT }).flatMap((script) => {
    const [made] = /dist\/assay-[a-z]+/.exec(readFileSync(join(ROOT, script), 'utf8')) ?? [];
    return made === undefined ? [] : [made];
  });
}

/** Projects and servers name these paths in `"$schema"`, so they never change. */
const SCHEMAS = {
  './schema.json': { source: 'client/config/assay.schema.json', installed: 'schema/assay.schema.json' },
  './server-schema.json': {
    source: 'server/config/server.schema.json',
    installed: 'schema/server.schema.json',
  },
};

/** Node’s licence, which a redistribution must include. */
const NODE_LICENSE = join(ROOT, `node_modules/node-linux-${process.arch}/LICENSE`);

const MAN_PAGE = 'man/assay.1';

/** Left out: compiled code speeds up hits, and hits run in the executable. */
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
  const installedSchemas = Object.entries(SCHEMAS).map(([path, { installed }]) => [path, `./${installed}`]);
  return {
    name: name ?? 'assay',
    version,
    description,
    license,
    type,
    exports: { ...exports, ...Object.fromEntries(installedSchemas) },
    ...(name === undefined && { private: true }),
    bin: { assay: 'dist/assay-start' },
    man: [MAN_PAGE],
    os: ['linux'],
    cpu: [process.arch],
    libc: ['glibc'],
  };
}

/**
 * Reproducible: the same files give the same package. `npm pack` takes 1.5 times as long and packs no better.
 */
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
    for (const { source, installed } of Object.values(SCHEMAS))
      cpSync(join(ROOT, source), join(folder, installed));
    cpSync(NODE_LICENSE, join(folder, 'dist/node/LICENSE'));
    mkdirSync(join(folder, dirname(MAN_PAGE)));
    writeFileSync(join(folder, MAN_PAGE), manPage(join(DIST, 'assay'), String(about.version)));
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
  throw new Error('the name needs a scope of yours: npm run package -- @our-team/assay');
const missing = CONTENT.find((path) => !existsSync(join(ROOT, path)));
if (missing !== undefined) throw new Error(`${missing} is missing: run \`npm run build\``);
process.stdout.write(`${pack(name)}\n`);
