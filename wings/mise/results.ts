// The results of mise's actions. A result is stored under the digest of its action, and names every blob that it reaches.
// Guarantees: a commit is visible only when all of that is stored, and a hit is told only while all of it can be read.
// The first result of an action stays; another one with other outputs is refused, and recorded as a divergence.
//
// Metadata is stored as a log: it has the time that the task took, and so differs between equal runs.
import { concurrently } from '../../core/concurrently.ts';
import { type Digest, toWire } from '../../core/digest.ts';
import { AssayError } from '../../core/errors.ts';
import type { Namespace } from '../../core/namespace.ts';
import { ActionResult } from '../../core/proto/generated/reapi.ts';
import { decodeResult } from '../../core/result.ts';
import type { Exchange } from '../../server/http/exchange.ts';
import { artifactAddress, decodeArtifact, encodeArtifact } from '../../server/protocols/shared/artifact.ts';
import type { Blob, ResultAddress, StoredResult } from '../../store/store.ts';
import { findBlob, openBlob } from './blobs.ts';
import { type MiseDigest, parseDigestParams, textOf } from './digest.ts';
import { MISE } from './limits.ts';
import { type Commit, checkOfTask, encodeCommit, parseCommit, parseFolder } from './objects.ts';

/** The attribute of a record that has the text of the commit. */
const COMMIT = 'commit';

function resultAddress(namespace: Namespace, action: MiseDigest): ResultAddress {
  return artifactAddress('mise', namespace, textOf(action));
}

/** The text of the commit. */
export async function findCommit(
  exchange: Exchange,
  namespace: Namespace,
  action: MiseDigest,
): Promise<string | undefined> {
  const address = resultAddress(namespace, action);
  const text = await wholeCommit(exchange, namespace, await exchange.store.results.get(address));
  exchange.lookedUp('mise', 'mise', text !== undefined, address);
  return text;
}

/** `present`: the action has this result, or one with the same outputs. */
export async function commitResult(
  exchange: Exchange,
  namespace: Namespace,
  action: MiseDigest,
  commit: Commit,
): Promise<'stored' | 'present'> {
  const address = resultAddress(namespace, action);
  if (textOf(commit.action) !== textOf(action))
    throw new AssayError('ASSAY_BAD_MESSAGE', 'the URL and the body name two actions');
  const record = encodeRecord(commit, await reached(exchange, namespace, commit));
  const { store, server } = exchange;
  const first = await store.results.getOwn(address);
  const replace = first !== undefined && (await wholeCommit(exchange, namespace, first)) === undefined;
  const outcome = await server.lifecycle.whileWriting(() => store.results.put(address, record, { replace }));
  if (outcome === 'diverged')
    throw new AssayError('ASSAY_RECORD_EXISTS', 'the action has a result with other outputs');
  return outcome === 'unchanged' ? 'present' : 'stored';
}

/** The commit of a record, if all blobs that it reaches can be found by mise's digests. The store itself checks their bytes. */
async function wholeCommit(
  exchange: Exchange,
  namespace: Namespace,
  stored: StoredResult | undefined,
): Promise<string | undefined> {
  const text = stored && decodeArtifact(stored.bytes)?.attributes[COMMIT];
  if (!text) return undefined;
  const named = decodeResult(stored.bytes).outputFiles.flatMap(({ path }) => digestOfPath(path) ?? []);
  const { action, metadata } = parseCommit(Buffer.from(text));
  let isWhole = true;
  await concurrently([action, metadata, ...named], MISE.concurrentLookups, async (digest) => {
    if (isWhole && !(await findBlob(exchange, namespace, digest))) isWhole = false;
  });
  return isWhole ? text : undefined;
}

/** The description of the action is the artifact of the record; other outputs are named by their digest. */
function encodeRecord(commit: Commit, blobs: ReadonlyMap<string, Digest>): Uint8Array {
  const found = (text: string) => {
    const digest = blobs.get(text);
    if (!digest) throw missing(text);
    return digest;
  };
  const [action, metadata] = [textOf(commit.action), textOf(commit.metadata)];
  const base = ActionResult.decode(
    encodeArtifact({ digest: found(action), attributes: { [COMMIT]: encodeCommit(commit) } }),
  );
  const outputs = [...blobs].flatMap(([path, digest]) =>
    path === action || path === metadata
      ? []
      : [{ path, digest: toWire(digest), isExecutable: false, contents: Buffer.alloc(0) }],
  );
  const outputFiles = [...base.outputFiles, ...outputs];
  return ActionResult.encode({ ...base, outputFiles, stdoutDigest: toWire(found(metadata)) }).finish();
}

function digestOfPath(path: string): MiseDigest | undefined {
  const [algorithm, hash, size] = path.split('/');
  if (algorithm === undefined || hash === undefined || size === undefined) return undefined;
  return parseDigestParams({ algorithm, hash, size });
}

/** All blobs that a commit leads to, and where the store has them. Each object on the way is read and checked. */
async function reached(
  exchange: Exchange,
  namespace: Namespace,
  { action, metadata, outputRoot }: Commit,
): Promise<ReadonlyMap<string, Digest>> {
  const blobs = new Map<string, Digest>();
  let folderBytes = 0;
  const add = async (digest: MiseDigest) => {
    const found = await findBlob(exchange, namespace, digest);
    if (!found) throw missing(textOf(digest));
    blobs.set(textOf(digest), found);
  };
  const each = (digests: ReadonlyMap<string, MiseDigest>, work: (digest: MiseDigest) => Promise<void>) => {
    if (blobs.size + digests.size > MISE.maxReachable)
      throw new AssayError('ASSAY_TOO_LARGE', `a result reaches at most ${MISE.maxReachable} blobs`);
    return concurrently([...digests.values()], MISE.concurrentLookups, work);
  };
  await add(action);
  await add(metadata);
  checkOfTask(await readObject(exchange, namespace, action), 'the description of the action');
  checkOfTask(await readObject(exchange, namespace, metadata), 'the metadata');
  const files = new Map<string, MiseDigest>();
  const seen = new Set<string>();
  let level = new Map(outputRoot ? [[textOf(outputRoot), outputRoot]] : []);
  while (level.size > 0) {
    const below = new Map<string, MiseDigest>();
    await each(level, async (folder) => {
      seen.add(textOf(folder));
      await add(folder);
      folderBytes += folder.size;
      if (folderBytes > MISE.maxFolderBytes)
        throw new AssayError(
          'ASSAY_TOO_LARGE',
          `the folders of a result have at most ${MISE.maxFolderBytes} bytes`,
        );
      const parsed = parseFolder(await readObject(exchange, namespace, folder));
      for (const file of parsed.files) files.set(textOf(file), file);
      for (const child of parsed.directories) below.set(textOf(child), child);
    });
    level = new Map([...below].filter(([text]) => !seen.has(text)));
  }
  await each(files, add);
  return blobs;
}

async function readObject(exchange: Exchange, namespace: Namespace, digest: MiseDigest): Promise<Buffer> {
  if (digest.size > MISE.maxObjectBytes)
    throw new AssayError('ASSAY_TOO_LARGE', `an object has at most ${MISE.maxObjectBytes} bytes`);
  const read = await openBlob(exchange, namespace, digest);
  if (!read) throw missing(textOf(digest));
  return bytesOf(read.blob);
}

async function bytesOf(blob: Blob): Promise<Buffer> {
  if (blob.bytes) return blob.bytes;
  const chunks: Buffer[] = [];
  for await (const chunk of blob.chunks()) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

function missing(text: string): AssayError {
  return new AssayError('ASSAY_RESULT_INCOMPLETE', `${text} is not stored`);
}
