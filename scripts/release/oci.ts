// The server as a container image, written without a registry and without a tool for images: an OCI layout in one tar.
// It holds the server, the C and C++ libraries that Node needs, and no shell.
//
// It runs as any user, with a read-only root: it writes only /var/lib/assay.
// Guarantee: the same files and the same libraries give the same bytes.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { progress } from '../progress.ts';
import { installServer } from './install-tree.ts';
import { isOwn, type Kind } from './kinds.ts';
import { notices } from './licences.ts';
import { REPRODUCIBLE } from './npm.ts';
import type { Parts } from './parts.ts';
import { DIST, PROJECT, ROOT } from './places.ts';

/** The last four are what other libraries of the C library load when they are asked to. */
const LIBRARIES = [
  ...['libatomic.so.1', 'libstdc++.so.6', 'libgcc_s.so.1', 'libc.so.6', 'libm.so.6'],
  ...['libdl.so.2', 'libpthread.so.0', 'librt.so.1', 'libresolv.so.2'],
];

const LOADERS = { x64: 'ld-linux-x86-64.so.2', arm64: 'ld-linux-aarch64.so.1' } as const;

/** The packages of these libraries, for their licences. */
const LIBRARY_PACKAGES = ['libc6', 'libstdc++6', 'libgcc-s1', 'libatomic1'];

const USER = 65532;

export function buildImage(parts: Parts, folder: string, made: Date): void {
  const { kind } = parts;
  progress(`container image for ${kind.debian}`);
  const scratch = mkdtempSync(join(DIST, 'oci-'));
  try {
    const root = join(scratch, 'root');
    stageImage(root, parts);
    const layer = packed(root, made);
    const layout = join(scratch, 'layout');
    writeLayout(layout, kind, layer, made);
    const file = join(folder, `assay-oci-${PROJECT.version}-${kind.debian}.tar`);
    execFileSync('tar', [...tarOptions(made), `--file=${file}`, `--directory=${layout}`, ...entries(layout)]);
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

/** The files of the image. */
export function stageImage(root: string, parts: Parts): void {
  const { kind } = parts;
  const libraries = join(root, 'usr/lib');
  for (const path of ['usr/bin', 'usr/lib', 'etc', 'tmp', 'var/lib/assay', 'usr/share/doc'])
    mkdirSync(join(root, path), { recursive: true });
  for (const name of ['lib', 'lib64']) symlinkSync('usr/lib', join(root, name));
  const source = isOwn(kind) ? `/lib/${kind.triplet}` : `/usr/${kind.triplet}/lib`;
  for (const name of [LOADERS[kind.arch], ...LIBRARIES])
    copyFileSync(realpathSync(join(source, name)), join(libraries, name));
  installServer(join(libraries, 'assay'), parts);
  for (const name of ['assay', 'assay-server'])
    symlinkSync('../lib/assay/assay-server', join(root, 'usr/bin', name));
  writeFileSync(
    join(root, 'etc/passwd'),
    `root:x:0:0::/:/nologin\nassay:x:${USER}:${USER}::/var/lib/assay:/nologin\n`,
  );
  writeFileSync(join(root, 'etc/group'), `root:x:0:\nassay:x:${USER}:\n`);
  writeFileSync(join(root, 'etc/nsswitch.conf'), 'hosts: files dns\n');
  writeFileSync(join(root, 'usr/share/doc/NOTICES'), notices(kind.arch));
  cpSync(join(ROOT, 'LICENSE'), join(root, 'usr/share/doc/LICENSE'));
  for (const name of LIBRARY_PACKAGES) {
    const text = `/usr/share/doc/${name}/copyright`;
    if (existsSync(text)) copyFileSync(text, join(root, 'usr/share/doc', `${name}.copyright`));
  }
  // Whoever runs it: a volume that is mounted here begins with this mode.
  for (const path of ['tmp', 'var/lib/assay']) chmodSync(join(root, path), 0o1777);
}

function entries(folder: string): string[] {
  return readdirSync(folder).sort();
}

function tarOptions(made: Date): string[] {
  return [...REPRODUCIBLE, `--mtime=@${made.getTime() / 1000}`];
}

function packed(root: string, made: Date): Buffer {
  const args = [...tarOptions(made), '--file=-', `--directory=${root}`, ...entries(root)];
  return execFileSync('tar', args, { maxBuffer: 1 << 30 });
}

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

/** https://github.com/opencontainers/image-spec */
function writeLayout(layout: string, kind: Kind, layer: Buffer, made: Date): void {
  const blobs = join(layout, 'blobs/sha256');
  mkdirSync(blobs, { recursive: true });
  const put = (mediaType: string, bytes: Buffer): Descriptor => {
    const digest = sha256(bytes);
    writeFileSync(join(blobs, digest), bytes);
    return { mediaType, digest: `sha256:${digest}`, size: bytes.length };
  };
  const putJson = (mediaType: string, value: unknown) => put(mediaType, Buffer.from(JSON.stringify(value)));
  const type = (name: string) => `application/vnd.oci.image.${name}`;
  const config = putJson(type('config.v1+json'), configOf(kind, layer, made));
  const manifest = putJson(type('manifest.v1+json'), {
    schemaVersion: 2,
    mediaType: type('manifest.v1+json'),
    config,
    layers: [put(type('layer.v1.tar+gzip'), gzipSync(layer))],
  });
  const annotations = {
    'org.opencontainers.image.ref.name': PROJECT.version,
    'io.containerd.image.name': `localhost/assay:${PROJECT.version}`,
  };
  const platform = { architecture: kind.debian, os: 'linux' };
  const index = { schemaVersion: 2, manifests: [{ ...manifest, platform, annotations }] };
  writeFileSync(join(layout, 'index.json'), JSON.stringify(index));
  writeFileSync(join(layout, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
}

/** Alive is enough: a restart mends no disk, and it ends the reads that still work (docs/SERVER.md#health). */
const HEALTH =
  "fetch('http://127.0.0.1:8980/status').then(({ok}) => process.exit(ok ? 0 : 1), () => process.exit(1))";

function configOf(kind: Kind, layer: Buffer, made: Date) {
  return {
    created: made.toISOString(),
    architecture: kind.debian,
    os: 'linux',
    config: {
      User: `${USER}:${USER}`,
      Env: ['PATH=/usr/bin'],
      Entrypoint: ['/usr/bin/assay-server'],
      Cmd: ['serve', '--host', '0.0.0.0', '--port', '8980', '--store', '/var/lib/assay'],
      ExposedPorts: { '8980/tcp': {} },
      Volumes: { '/var/lib/assay': {} },
      WorkingDir: '/var/lib/assay',
      StopSignal: 'SIGTERM',
      // Not of OCI: Docker and Podman take it from there.
      Healthcheck: {
        Test: ['CMD', '/usr/lib/assay/node/node', '-e', HEALTH],
        Interval: 30_000_000_000,
        Timeout: 5_000_000_000,
      },
    },
    rootfs: { type: 'layers', diff_ids: [`sha256:${sha256(layer)}`] },
    history: [{ created: made.toISOString(), created_by: 'npm run release' }],
  };
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
