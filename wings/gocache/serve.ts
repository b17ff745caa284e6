// Serves the go command's requests: concurrently, with responses matched by ID. A failed request is a miss or
// an error of that request alone. The go command fails the build if its cache program ends, so the loop goes
// on whatever the store or the remote does.

import { AssayError, messageOf } from '../../core/errors.ts';
import type { DiskFiles, Received } from './disk-files.ts';
import { type Entries, type GoCacheEntry, isIdOf } from './entries.ts';
import { GOCACHE } from './limits.ts';
import { type Answer, type Request, readRequest } from './request.ts';
import { RequestReader } from './request-reader.ts';

interface GoCache {
  readonly files: DiskFiles;
  /** Undefined if there is no usable store: then every request is a miss and nothing is stored. */
  readonly entries: Entries | undefined;
  readonly now: () => number;
}

type Get = Request & { command: 'get' };
type Put = Request & { command: 'put' };

/** Ends on `close` or at the end of the stream. Throws ASSAY_BAD_WIRE for an invalid request. */
export async function serveGo(
  input: AsyncIterable<Buffer>,
  answer: (answer: Answer) => void,
  cache: GoCache,
): Promise<void> {
  const wire = new RequestReader(input);
  const pending = new Set<Promise<void>>();
  let closing: Request | undefined;
  answer({ ID: 0, KnownCommands: ['get', 'put', 'close'] });
  try {
    while (true) {
      const request = await readRequest(wire);
      if (!request) break;
      if (request.command === 'close') {
        closing = request;
        break;
      }
      const body = request.command === 'put' ? await receive(request, cache) : undefined;
      const done = reply(request, body, cache)
        .then(answer)
        .finally(() => pending.delete(done));
      pending.add(done);
      if (pending.size >= GOCACHE.concurrentRequests) await Promise.race(pending);
    }
  } finally {
    await Promise.all(pending);
    await cache.entries?.close();
    cache.files.close();
  }
  if (closing) answer({ ID: closing.id });
}

/**
 * A received body, or why there is none. It is read before the next request, which follows it in the stream.
 */
type Body = Received | { readonly fault: string };

async function receive(request: Put, { files }: GoCache): Promise<Body> {
  try {
    const received = await files.receive(request.body);
    if (received.digest.size === request.bodySize && isIdOf(request.outputId, received.digest))
      return received;
    files.drop(received);
    return { fault: 'the output changed while it was sent' };
  } catch (error) {
    return { fault: error instanceof AssayError ? error.detail : messageOf(error) };
  }
}

async function reply(request: Request, body: Body | undefined, cache: GoCache): Promise<Answer> {
  const ID = request.id;
  try {
    if (request.command === 'get') return { ID, ...((await find(request, cache)) ?? { Miss: true }) };
    if (request.command === 'put' && body) return { ID, ...(await keep(request, body, cache)) };
    return { ID, Err: request.command === 'unknown' ? request.why : 'out of order' };
  } catch (error) {
    return request.command === 'get' ? { ID, Miss: true } : { ID, Err: messageOf(error) };
  }
}

type Found = Pick<Answer, 'OutputID' | 'Size' | 'Time' | 'DiskPath'>;

async function find({ actionId }: Get, { files, entries }: GoCache): Promise<Found | undefined> {
  const entry = await entries?.get(actionId);
  const path = entry && entries && (files.find(entry.digest) ?? (await unpack(entry, entries, files)));
  if (!path) return undefined;
  return {
    OutputID: entry.outputId.toString('base64'),
    Size: entry.digest.size,
    Time: new Date(entry.storedAt).toISOString(),
    DiskPath: path,
  };
}

async function unpack(
  { digest }: GoCacheEntry,
  entries: Entries,
  files: DiskFiles,
): Promise<string | undefined> {
  const blob = await entries.content(digest);
  if (!blob) return undefined;
  const received = await files.receive(blob.bytes ?? blob.chunks());
  if (received.digest.hash === digest.hash) return files.keep(received);
  files.drop(received);
  return undefined;
}

/** The go command gets its file even if the store fails. */
async function keep(request: Put, body: Body, { files, entries, now }: GoCache): Promise<Found> {
  if ('fault' in body) throw new AssayError('ASSAY_BAD_WIRE', body.fault);
  const path = await files.keep(body);
  const entry = { outputId: request.outputId, digest: body.digest, storedAt: now() };
  await entries?.put(request.actionId, entry, path);
  return { DiskPath: path };
}
