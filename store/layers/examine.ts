// Examines one blob: reads all of it from the disk and compares its SHA-256 with its address.
// Relies on no checksum, unlike verify.ts. A wrong blob is quarantined.
import type { Hash } from '../../core/digest.ts';
import { nodeCrypto, sha256 } from '../../core/sha256.ts';
import { STORE } from '../limits.ts';
import type { RawBlob, RawBlobs, RawFile, RawLargeBlob } from '../raw.ts';
import { acquireBuffer, releaseBuffer } from '../shared/buffers.ts';
import type { BlobHealth, OnRead } from '../store.ts';

export async function examine(raw: RawBlobs, hash: Hash, onRead: OnRead): Promise<BlobHealth> {
  const blob = await raw.get(hash);
  if (!blob) return 'gone';
  const fault = await faultIn(hash, blob, onRead);
  if (fault === undefined) return 'whole';
  if ((await raw.get(hash))?.generation !== blob.generation) return 'gone';
  await raw.quarantine(hash, blob.generation, fault);
  return 'damaged';
}

async function faultIn(hash: Hash, blob: RawBlob, onRead: OnRead): Promise<string | undefined> {
  if (blob.kind === 'broken') return blob.detail;
  if (blob.kind === 'large') return faultInFile(hash, blob, onRead);
  await onRead(blob.size);
  return sha256(blob.bytes) === hash ? undefined : 'its bytes have another SHA-256';
}

async function faultInFile(hash: Hash, blob: RawLargeBlob, onRead: OnRead): Promise<string | undefined> {
  const file = await blob.open();
  if (!file) return 'its file is missing';
  const buffer = acquireBuffer();
  try {
    return (await hashOf(file, blob.size, buffer, onRead)) === hash
      ? undefined
      : 'its file has another SHA-256';
  } finally {
    releaseBuffer(buffer);
    await file.close();
  }
}

async function hashOf(file: RawFile, size: number, buffer: Buffer, onRead: OnRead): Promise<string> {
  const hasher = nodeCrypto().createHash('sha256');
  for (let position = 0; position < size; position += STORE.chunkBytes) {
    const part = buffer.subarray(0, Math.min(STORE.chunkBytes, size - position));
    hasher.update(part.subarray(0, await file.read(part, position)));
    await onRead(part.length);
  }
  return hasher.digest('hex');
}
