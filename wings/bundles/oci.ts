// An OCI image layout whose one layer is a bundle, so that any registry carries it (oras, skopeo, crane).
// It follows the image specification 1.1: an artifact with an empty config. index.json is written last, so a killed export
// leaves no layout that names a blob which is not there.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isHash } from '../../core/digest.ts';
import { objectIn } from './format/layout.ts';
import { damaged } from './format/tar.ts';
import { BUNDLE } from './limits.ts';
import { type BundleOutput, fileOutput } from './output.ts';

const BUNDLE_TYPE = 'application/vnd.assay.bundle.v1+tar';
const ARTIFACT_TYPE = 'application/vnd.assay.bundle.v1';
const MANIFEST_TYPE = 'application/vnd.oci.image.manifest.v1+json';
const INDEX_TYPE = 'application/vnd.oci.image.index.v1+json';
const EMPTY = { mediaType: 'application/vnd.oci.empty.v1+json', ...described(Buffer.from('{}')) };

export function ociOutput(folder: string): BundleOutput {
  const blobs = join(folder, 'blobs', 'sha256');
  const layer = join(blobs, 'bundle');
  mkdirSync(blobs, { recursive: true });
  const output = fileOutput(layer, true);
  return {
    ...output,
    async finish() {
      const digest = (await output.finish()) ?? '';
      const { size } = statSync(layer);
      renameSync(layer, join(blobs, digest));
      const manifest = Buffer.from(
        JSON.stringify({
          schemaVersion: 2,
          mediaType: MANIFEST_TYPE,
          artifactType: ARTIFACT_TYPE,
          config: EMPTY,
          layers: [{ mediaType: BUNDLE_TYPE, digest: `sha256:${digest}`, size }],
        }),
      );
      for (const blob of [Buffer.from('{}'), manifest]) writeFileSync(join(blobs, sha256(blob)), blob);
      const named = { mediaType: MANIFEST_TYPE, artifactType: ARTIFACT_TYPE, ...described(manifest) };
      writeFileSync(join(folder, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
      writeFileSync(
        join(folder, 'index.json'),
        JSON.stringify({ schemaVersion: 2, mediaType: INDEX_TYPE, manifests: [named] }),
      );
      return digest;
    },
  };
}

/** The file of the bundle: the path itself, or the layer of the layout in that folder. */
export function bundleAt(path: string): string {
  const layout = join(path, 'oci-layout');
  if (!existsSync(layout)) return path;
  const [manifest] = listIn(read(join(path, 'index.json')), 'manifests');
  const [layer, ...more] = listIn(read(blobAt(path, manifest)), 'layers');
  if (more.length > 0) throw damaged(`the image in ${path} has more than one layer`);
  return blobAt(path, layer);
}

function listIn(bytes: Buffer, field: string): readonly unknown[] {
  const { [field]: list } = objectIn(bytes.toString(), 'a file of the OCI layout is not JSON');
  return Array.isArray(list) ? list : [];
}

/** A digest and nothing else: the path of a hostile layout leads nowhere. */
function blobAt(folder: string, descriptor: unknown): string {
  const digest =
    typeof descriptor === 'object' && descriptor !== null && 'digest' in descriptor ? descriptor.digest : '';
  const hash = typeof digest === 'string' ? digest.replace(/^sha256:/, '') : '';
  if (!isHash(hash)) throw damaged('the OCI layout names something by no SHA-256');
  return join(folder, 'blobs', 'sha256', hash);
}

function read(file: string): Buffer {
  if (statSync(file).size > BUNDLE.maxMessageBytes) throw damaged(`${file} is too large`);
  return readFileSync(file);
}

function described(bytes: Buffer): { readonly digest: string; readonly size: number } {
  return { digest: `sha256:${sha256(bytes)}`, size: bytes.length };
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
