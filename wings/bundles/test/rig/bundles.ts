// Makes bundles of stores in memory, and of lines that no export writes.
import { createHash } from 'node:crypto';
import { type Digest, digestOf, parseHash } from '../../../../core/digest.ts';
import { viaBundle } from '../../../../core/metadata/bundle.ts';
import type { ReviewedResult, Store } from '../../../../store/store.ts';
import { collectBundle } from '../../export/collect.ts';
import { exportBundle } from '../../export/export.ts';
import { LOCALLY, storeSource } from '../../export/source.ts';
import type { WantedResult } from '../../export/wanted.ts';
import { type Head, SLICE_BYTES } from '../../format/layout.ts';
import { type BundleRecord, encodeRecord } from '../../format/records.ts';
import { streamSource } from '../../format/source.ts';
import { type Sink, writeBundle } from '../../format/writer.ts';
import { type Imported, type ImportOptions, importBundle } from '../../import/import.ts';
import { localDestination } from '../../import/publish.ts';

export const MADE = { at: '2026-11-19T12:00:00.000Z', assay: '0.3.0', where: 'here' };

const EVERYTHING: WantedResult = { keys: [], labels: [] };

export function memorySink(): Sink & { whole(): Buffer } {
  const pieces: Buffer[] = [];
  return {
    write: async (bytes) => void pieces.push(Buffer.from(bytes)),
    whole: () => Buffer.concat(pieces),
  };
}

export async function exported(
  { review, results, blobs }: Store,
  options: {
    readonly wanted?: Partial<WantedResult>;
    readonly key?: Parameters<typeof exportBundle>[0]['key'];
  } = {},
): Promise<Buffer> {
  if (!review) throw new Error('this store has no review');
  const wanted = { ...EVERYTHING, ...options.wanted };
  const collected = await collectBundle({
    records: storeSource({ review, results, wanted, within: LOCALLY }),
    ...{ blobs, made: MADE },
    isPrivate: () => false,
    onResult() {},
  });
  const sink = memorySink();
  await exportBundle({ collected, blobs, sink, key: options.key, onContent() {} });
  collected.spool.close();
  return sink.whole();
}

export async function imported(
  store: Store,
  bundle: Buffer | AsyncIterable<Buffer>,
  options: Partial<Pick<ImportOptions, 'trusted' | 'maxBytes'>> = {},
): Promise<Imported> {
  const stream = Buffer.isBuffer(bundle) ? piecesOf(bundle) : bundle;
  return importBundle({
    ...{ store, trusted: [], maxBytes: Number.POSITIVE_INFINITY, ...options },
    source: streamSource(stream),
    destination: async ({ bundle: digest }) =>
      localDestination(store, { name: 'tester', from: '', via: viaBundle(digest), at: 1 }),
    onProgress() {},
  });
}

async function* piecesOf(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
}

/** Everything that somebody could find in the store. */
export async function visibleIn({ review }: Store): Promise<ReviewedResult[]> {
  return review ? Array.fromAsync(review.results()) : [];
}

/** A bundle with these records and blobs, in a form that an import reads to its end, with what `head` says otherwise. */
export async function forged(
  records: readonly BundleRecord[],
  blobs: readonly Buffer[],
  head: Partial<Head> = {},
  digests: readonly Digest[] = blobs.map(digestOf),
): Promise<Buffer> {
  const named = digests
    .map((blob, at) => ({ blob, bytes: blobs[at] ?? Buffer.alloc(0) }))
    .sort((a, b) => (a.blob.hash < b.blob.hash ? -1 : 1));
  const lines = [{ made: MADE }, ...records, ...named.map(({ blob }) => ({ blob }))];
  return forgedFrom(lines.map(encodeRecord).join(''), Buffer.concat(named.map(({ bytes }) => bytes)), head);
}

/** The same of a manifest that no record can be encoded to. */
export async function forgedFrom(text: string, content: Buffer, head: Partial<Head> = {}): Promise<Buffer> {
  const manifest = Buffer.from(text);
  const bundle = parseHash(createHash('sha256').update(manifest).digest('hex'));
  const sink = memorySink();
  await writeBundle(
    {
      head: { bundle, manifestBytes: manifest.length, contentBytes: content.length, ...head },
      manifest: slices(manifest),
      content: asynchronously(slices(content)),
    },
    sink,
  );
  return sink.whole();
}

function* slices(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) yield bytes.subarray(at, at + SLICE_BYTES);
}

async function* asynchronously(pieces: Iterable<Buffer>): AsyncGenerator<Buffer> {
  yield* pieces;
}

/** Where each file of the tar begins and ends, without its header. */
export function filesIn(
  bundle: Buffer,
): { readonly name: string; readonly at: number; readonly size: number }[] {
  const files: { name: string; at: number; size: number }[] = [];
  for (let at = 0; bundle[at] !== 0; ) {
    const name = bundle.toString('latin1', at, at + 100).replace(/\0.*$/s, '');
    const size = Number.parseInt(bundle.toString('latin1', at + 124, at + 135), 8);
    files.push({ name, at: at + 512, size });
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return files;
}
