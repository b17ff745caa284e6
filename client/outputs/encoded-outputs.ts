// Encodes outputs as an ActionResult, and collects the content that it names.
import { type Digest, digestOf, EMPTY, type Hash, toWire } from '../../core/digest.ts';
import { AssayError } from '../../core/errors.ts';
import { join, type RelPath, relativeTo, toSystemPath } from '../../core/path.ts';
import type { ActionResult } from '../../core/proto/generated/reapi.ts';
import { emptyResult } from '../../core/result.ts';
import { encodeTree } from '../../core/tree.ts';
import type { ContentCache } from '../files/content-cache.ts';
import type { FileDigests } from '../files/file-digest.ts';
import { type Output, observeOutput, refuseLinkedParents, whyUnfit } from './outputs.ts';

/** Content that a result needs: bytes, or a file in the workspace. */
export type Sealed = { readonly digest: Digest } & (
  | { readonly bytes: Uint8Array }
  | { readonly file: string | Buffer }
);

/** Each content once. The empty blob needs no storing. */
export class Contents {
  readonly #byHash = new Map<Hash, Sealed>();

  add(sealed: Sealed): void {
    if (sealed.digest.hash !== EMPTY.hash) this.#byHash.set(sealed.digest.hash, sealed);
  }

  addBytes(bytes: Uint8Array): Digest {
    const digest = digestOf(bytes);
    this.add({ digest, bytes });
    return digest;
  }

  values(): Sealed[] {
    return [...this.#byHash.values()];
  }
}

interface EncodedOutputs {
  readonly result: ActionResult;
  readonly contents: Contents;
}

/**
 * The output on disk; undefined if there is none. Throws if it must not be stored, such as a link out of the
 * workspace.
 */
export function fitOutput(workspace: string, path: RelPath, digests: FileDigests): Output | undefined {
  refuseLinkedParents(workspace, path);
  const output = observeOutput(workspace, path, digests);
  const why = output && whyUnfit(output);
  if (why !== undefined) throw new AssayError('ASSAY_OUTPUT_UNFIT', `its output ${why}`);
  return output;
}

export function encodeOutputs(
  outputs: readonly Output[],
  workspace: string,
  workingDirectory: RelPath,
  kept?: ContentCache,
): EncodedOutputs {
  const contents = new Contents();
  const keepFile = (path: RelPath, digest: Digest): void => {
    const bytes = kept?.of(digest.hash);
    contents.add(bytes ? { digest, bytes } : { digest, file: toSystemPath(workspace, path) });
  };
  const result = emptyResult(0);
  for (const output of outputs) {
    const path = relativeTo(workingDirectory, output.path);
    if (output.kind === 'symlink') {
      result.outputSymlinks.push({ path, target: output.target });
    } else if (output.kind === 'file') {
      keepFile(output.path, output.digest);
      const { executable: isExecutable } = output;
      const file = { path, digest: toWire(output.digest), isExecutable, contents: Buffer.alloc(0) };
      result.outputFiles.push(file);
    } else {
      for (const entry of output.entries) {
        if (entry.kind === 'file') keepFile(join(output.path, entry.path), entry.digest);
      }
      const treeDigest = toWire(contents.addBytes(encodeTree(output.entries)));
      result.outputDirectories.push({ path, treeDigest, isTopologicallySorted: false });
    }
  }
  return { result, contents };
}
