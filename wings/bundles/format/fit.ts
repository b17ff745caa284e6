// Which results may be in a bundle: those whose outputs a client would take from a server. Export leaves the others out, and
// import refuses a bundle that has one.
import { outputsNamedBy, whyUnfit } from '../../../client/outputs/outputs.ts';
import { type Digest, type Hash, parseDigest } from '../../../core/digest.ts';
import { AssayError, messageOf } from '../../../core/errors.ts';
import { decodeStrict } from '../../../core/message.ts';
import { actionNamedBy } from '../../../core/metadata/receipt.ts';
import { parseRelPath, type RelPath, ROOT } from '../../../core/path.ts';
import { Action, type ActionResult, Command } from '../../../core/proto/generated/reapi.ts';
import { decodeResult, referencedContent, verifyInlineContents } from '../../../core/result.ts';
import { filesInTree } from '../../../core/tree.ts';
import { STORE } from '../../../store/limits.ts';
import { readBlob } from '../../../store/shared/read-blob.ts';
import type { Blobs } from '../../../store/store.ts';
import { BUNDLE } from '../limits.ts';
import type { ResultRecord } from './records.ts';

/** The blobs of a bundle, or those that a bundle could have. */
export interface KnownBlobs {
  /** Undefined for any other blob. */
  sizeOf(hash: Hash): Promise<number | undefined>;
  /** Those of which there is no blob with that size. */
  missing(digests: readonly Digest[]): Promise<readonly Digest[]>;
  readonly blobs: Blobs;
}

/** Throws ASSAY_BUNDLE_REFUSED. Every blob that the result names is known. */
export async function requireFit(record: ResultRecord, known: KnownBlobs): Promise<ActionResult> {
  try {
    const result = decodeResult(record.message);
    verifyInlineContents(result);
    await requireContent(result, known);
    const folder = record.in === '' ? await folderOf(actionNamedBy(result) ?? record.key, known) : ROOT;
    const readTree = ({ hash }: Digest) => readBlob(hash, known.blobs);
    for (const output of await outputsNamedBy(result, folder, readTree)) {
      const why = whyUnfit(output);
      if (why !== undefined) throw refusedBundle(why);
    }
    return result;
  } catch (error) {
    throw refusedBundle(`the result ${record.key}: ${messageOf(error)}`);
  }
}

async function requireContent(result: ActionResult, known: KnownBlobs): Promise<void> {
  const { blobs: named, trees, directories } = referencedContent(result);
  if (directories.length > 0) throw refusedBundle('it names folders in a way that no version of Assay does');
  await requireKnown(named, known);
  for (const tree of trees) {
    if (tree.size > STORE.maxTreeBytes) throw refusedBundle(`${tree.hash} is too large for a Tree`);
    await requireKnown(filesInTree(await readBlob(tree.hash, known.blobs)), known);
  }
}

async function requireKnown(digests: readonly Digest[], known: KnownBlobs): Promise<void> {
  const [missing] = await known.missing(digests.filter(({ size }) => size > 0));
  if (missing) throw refusedBundle(`it names the blob ${missing.hash}, which is missing`);
}

/** Outputs are named from the working directory. An action that is not there has the root. */
async function folderOf(key: Hash, known: KnownBlobs): Promise<RelPath> {
  const action = await messageAt(key, known);
  const { commandDigest } = action ? decodeStrict(Action, {}, action, 'its action is malformed') : {};
  const command = commandDigest && (await messageAt(parseDigest(commandDigest).hash, known));
  if (!command) return ROOT;
  return parseRelPath(decodeStrict(Command, {}, command, 'its command is malformed').workingDirectory);
}

async function messageAt(hash: Hash, { sizeOf, blobs }: KnownBlobs): Promise<Buffer | undefined> {
  const size = await sizeOf(hash);
  return size !== undefined && size <= BUNDLE.maxMessageBytes ? readBlob(hash, blobs) : undefined;
}

export function refusedBundle(detail: string): AssayError {
  return new AssayError('ASSAY_BUNDLE_REFUSED', detail);
}
