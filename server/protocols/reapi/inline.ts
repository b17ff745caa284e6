// Inlines logs and output files into a result, if the client asks for them and they are small enough.
// All other bytes of the result stay unchanged.
import { parseDigest } from '../../../core/digest.ts';
import { encodeField, replaceFields } from '../../../core/edit-message.ts';
import type { Digest as WireDigest } from '../../../core/proto/generated/reapi.ts';
import { decodeResult } from '../../../core/result.ts';
import type { Blobs } from '../../../store/store.ts';
import { wholeBlob } from '../../http/blob-bytes.ts';
import type { ResultQuery } from './result-requests.ts';

/**
 * The field numbers of output_files, stdout_raw and stderr_raw in ActionResult, and of OutputFile.contents.
 */
const FILES_FIELD = 2;
const STDOUT_FIELD = 5;
const STDERR_FIELD = 7;
const CONTENTS_FIELD = 5;

export function asksForContent(query: ResultQuery): boolean {
  return query.inlineStdout || query.inlineStderr || query.inlineOutputFiles.length > 0;
}

export async function withContent(
  bytes: Buffer,
  query: ResultQuery,
  blobs: Blobs,
  maxBytes: number,
): Promise<Buffer> {
  const result = decodeResult(bytes);
  const reader = new BoundedReader(blobs, maxBytes);
  const logs: Uint8Array[] = [];
  const addLog = async (field: number, raw: Uint8Array, digest: WireDigest | undefined) => {
    const content = raw.length === 0 ? await reader.read(digest) : undefined;
    if (content) logs.push(encodeField(field, content));
  };
  if (query.inlineStdout) await addLog(STDOUT_FIELD, result.stdoutRaw, result.stdoutDigest);
  if (query.inlineStderr) await addLog(STDERR_FIELD, result.stderrRaw, result.stderrDigest);
  const wanted = new Set(query.inlineOutputFiles);
  const contents = new Map<number, Uint8Array>();
  for (const [index, { path, contents: present, digest }] of result.outputFiles.entries()) {
    const isWanted = wanted.has(path) && present.length === 0;
    const content = isWanted ? await reader.read(digest) : undefined;
    if (content) contents.set(index, encodeField(CONTENTS_FIELD, content));
  }
  const withFiles = replaceFields(bytes, FILES_FIELD, (file, index) => {
    const content = contents.get(index);
    return content && Buffer.concat([file, content]);
  });
  return Buffer.concat([withFiles, ...logs]);
}

/** Reads blobs within the limit for one response. */
class BoundedReader {
  readonly #blobs: Blobs;
  #bytesLeft: number;

  constructor(blobs: Blobs, bytes: number) {
    this.#blobs = blobs;
    this.#bytesLeft = bytes;
  }

  /** Undefined for a blob that does not fit or was evicted: the client then fetches it by itself. */
  async read(wire: WireDigest | undefined): Promise<Buffer | undefined> {
    if (!wire || wire.sizeBytes === 0 || wire.sizeBytes > this.#bytesLeft) return undefined;
    const { hash, size } = parseDigest(wire);
    const blob = await this.#blobs.get(hash);
    if (blob?.size !== size) return undefined;
    this.#bytesLeft -= size;
    return wholeBlob(blob);
  }
}
