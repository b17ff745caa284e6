// What lies at some paths, as a message: files, folders and links become outputs of an ActionResult, and the content that
// it names.
import { type Digest, digestOf, EMPTY, type Hash, toWire } from '../core/digest.ts';
import { AssayError } from '../core/errors.ts';
import { join, type RelPath, relativeTo, toSystemPath } from '../core/path.ts';
import type { ActionResult } from '../core/proto/generated/reapi.ts';
import { emptyResult } from '../core/result.ts';
import { encodeTree } from '../core/tree.ts';
import type { FileDigests } from './inputs/file-digest.ts';
import { type Output, observeOutput, refuseLinkedParents, strayLinkIn } from './outputs.ts';

/** Content that a result needs: bytes in hand, or a file in the workspace. */
export type Sealed = { readonly digest: Digest } & (
  | { readonly bytes: Uint8Array }
  | { readonly file: string | Buffer }
);

export interface EncodedOutputs {
  readonly result: ActionResult;
  readonly contents: Map<Hash, Sealed>;
}

/** What lies there, if it is fit to be kept: it exists, and no link in it leaves the workspace. */
export function fitOutput(workspace: string, path: RelPath, digests: FileDigests): Output {
  refuseLinkedParents(workspace, path);
  const output = observeOutput(workspace, path, digests);
  if (!output) throw new AssayError('ASSAY_OUTPUT_UNFIT', `there is nothing at ${path}`);
  const stray = strayLinkIn(output);
  if (stray !== undefined) {
    throw new AssayError('ASSAY_OUTPUT_UNFIT', `${stray} is a link that leaves the workspace`);
  }
  return output;
}

export function encodeOutputs(
  outputs: readonly Output[],
  workspace: string,
  workingDirectory: RelPath,
): EncodedOutputs {
  const contents = new Map<Hash, Sealed>();
  const keepFile = (path: RelPath, digest: Digest): void => {
    contents.set(digest.hash, { digest, file: toSystemPath(workspace, path) });
  };
  const result = emptyResult(0);
  for (const output of outputs) {
    const path = relativeTo(workingDirectory, output.path);
    if (output.kind === 'symlink') {
      result.outputSymlinks.push({ path, target: output.target });
    } else if (output.kind === 'file') {
      keepFile(output.path, output.digest);
      const { executable: isExecutable } = output;
      const contents = Buffer.alloc(0);
      result.outputFiles.push({ path, digest: toWire(output.digest), isExecutable, contents });
    } else {
      for (const entry of output.entries) {
        if (entry.kind === 'file') keepFile(join(output.path, entry.path), entry.digest);
      }
      const bytes = encodeTree(output.entries);
      const digest = digestOf(bytes);
      contents.set(digest.hash, { digest, bytes });
      result.outputDirectories.push({ path, treeDigest: toWire(digest), isTopologicallySorted: false });
    }
  }
  contents.delete(EMPTY.hash);
  return { result, contents };
}
