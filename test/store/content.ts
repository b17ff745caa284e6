// Blobs, streams and results for the store's tests.
import { type Digest, digestOf, toWire } from '../../core/digest.ts';
import { DEFAULT_NAMESPACE, type Namespace } from '../../core/namespace.ts';
import { parseRelPath } from '../../core/path.ts';
import { ActionResult, Directory } from '../../core/proto/generated/reapi.ts';
import { encodeTree } from '../../core/tree.ts';
import { EVERYONE } from '../../store/disk/index/records.ts';
import type { Holders } from '../../store/disk/index/results.ts';
import type { Blob, ResultAddress, Store } from '../../store/store.ts';

/** Bytes that depend only on `name`. Quick to make, and all their chunks differ. */
export function contentOf(name: string, size: number): Buffer {
  const seed = Buffer.from(`${digestOf(Buffer.from(name)).hash}`, 'hex');
  const bytes = Buffer.alloc(size, seed);
  for (let at = 0; at + 4 <= size; at += 1024) bytes.writeUInt32LE(at, at);
  return bytes;
}

export async function* streamOf(bytes: Buffer, pieceSize = 10_007): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += pieceSize) yield bytes.subarray(at, at + pieceSize);
}

export async function* failingAfter(bytes: Buffer, size: number, error: Error): AsyncGenerator<Buffer> {
  yield* streamOf(bytes.subarray(0, size));
  throw error;
}

export function putOne(store: Store, bytes: Buffer): Promise<Digest> {
  return store.blobs.put(digestOf(bytes), bytes);
}

export async function putAll(store: Store, ...contents: Buffer[]): Promise<Digest[]> {
  return Promise.all(contents.map((bytes) => putOne(store, bytes)));
}

export async function readBlob(
  blob: Blob | undefined,
  offset?: number,
  length?: number,
): Promise<Buffer | undefined> {
  if (!blob) return undefined;
  const from = offset ?? 0;
  if (blob.bytes) return blob.bytes.subarray(from, length === undefined ? undefined : from + length);
  const chunks: Buffer[] = [];
  for await (const chunk of blob.chunks(offset, length)) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

/** The whole content; undefined for a miss. */
export async function readFrom(store: Store, { hash }: Digest): Promise<Buffer | undefined> {
  return readBlob(await store.blobs.get(hash));
}

export function addressOf(name: string, namespace: Namespace = DEFAULT_NAMESPACE): ResultAddress {
  return { namespace, key: digestOf(Buffer.from(name)).hash };
}

export function resultWith(parts: Partial<ActionResult>): Buffer {
  return Buffer.from(ActionResult.encode({ ...ActionResult.decode(new Uint8Array(0)), ...parts }).finish());
}

export function resultNaming(...outputs: readonly Digest[]): Buffer {
  return resultWith({ outputFiles: outputs.map((digest, index) => outputFile(`out/${index}`, digest)) });
}

export function outputFile(path: string, digest: Digest): ActionResult['outputFiles'][number] {
  return { path, digest: toWire(digest), isExecutable: false, contents: Buffer.alloc(0) };
}

export function treeOf(...leaves: readonly Digest[]): Buffer {
  return Buffer.from(
    encodeTree(
      leaves.map((digest, index) => ({
        kind: 'file',
        path: parseRelPath(`folder/${index}`),
        digest,
        executable: false,
      })),
    ),
  );
}

export function outputTree(path: string, tree: Digest): ActionResult['outputDirectories'][number] {
  return { path, isTopologicallySorted: false, treeDigest: toWire(tree) };
}

export function outputRoot(path: string, root: Digest): ActionResult['outputDirectories'][number] {
  return { path, isTopologicallySorted: false, rootDirectoryDigest: toWire(root) };
}

export function directoryOf(files: readonly Digest[], folders: readonly Digest[] = []): Buffer {
  return Buffer.from(
    Directory.encode({
      files: files.map((digest, index) => ({
        name: `f${index}`,
        digest: toWire(digest),
        isExecutable: false,
      })),
      directories: folders.map((digest, index) => ({ name: `d${index}`, digest: toWire(digest) })),
      symlinks: [],
    }).finish(),
  );
}

/** For results of a store without accounts. */
export const noHolders: Holders = { numberOf: () => EVERYONE, hold: async () => {} };
