// Restores sampled results into empty folders, as a hit would, and compares the files with the results.
// This proves that the store returns what was put into it, not only that its bytes are right.
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Digest } from '../../../core/digest.ts';
import { AssayError, type ErrorCode, messageOf } from '../../../core/errors.ts';
import { ROOT } from '../../../core/path.ts';
import { decodeResult } from '../../../core/result.ts';
import { readBlob } from '../../../store/shared/read-blob.ts';
import type { ResultAddress, Store } from '../../../store/store.ts';
import { removeTemporaryFolder, temporaryFolder } from '../../../system/files/temporary-folder.ts';
import { digestFile, type FileDigests } from '../../files/file-digest.ts';
import { type Output, observeOutput, outputsNamedBy, sameOutput, whyUnfit } from '../../outputs/outputs.ts';
import { restoreOutputs } from '../../outputs/restore.ts';

export interface TestRestore {
  readonly restored: number;
  readonly files: number;
  /** Results of other tools that cannot be restored into a workspace. */
  readonly skipped: number;
  /** One text for each result that was not restored correctly. */
  readonly failures: readonly string[];
}

export async function testRestore(addresses: readonly ResultAddress[], store: Store): Promise<TestRestore> {
  const folder = temporaryFolder('verify');
  const failures: string[] = [];
  let [restored, skipped, files] = [0, 0, 0];
  try {
    for (const [number, address] of addresses.entries()) {
      try {
        const outputs = await outputsOf(address, store);
        if (outputs) await restoreOne(join(folder, String(number)), outputs, store);
        restored += outputs ? 1 : 0;
        skipped += outputs ? 0 : 1;
        files += outputs?.reduce((count, output) => count + sizeOf(output), 0) ?? 0;
      } catch (error) {
        failures.push(`${address.key}: ${messageOf(error)}`);
      }
    }
  } finally {
    removeTemporaryFolder(folder);
  }
  return { restored, files, skipped, failures };
}

/** Without a memory, so that every file is read. */
const EVERY_BYTE: FileDigests = { digest: (_name, _stats, locate) => digestFile(locate()).digest };

/** Errors of a result that is complete but cannot be a hit of Assay, because another tool wrote it. */
const FOREIGN: ReadonlySet<string> = new Set<ErrorCode>(['ASSAY_RESULT_MALFORMED', 'ASSAY_BAD_PATH']);

/**
 * Undefined if no workspace can hold the outputs: folders without a Tree, or paths that a hit may not
 * restore.
 */
async function outputsOf(address: ResultAddress, store: Store): Promise<Output[] | undefined> {
  const stored = await store.results.get(address);
  if (!stored) throw new Error('the result no longer exists');
  try {
    const readTree = ({ hash }: Digest) => readBlob(hash, store.blobs);
    const outputs = await outputsNamedBy(decodeResult(stored.bytes), ROOT, readTree);
    return outputs.some((output) => whyUnfit(output) !== undefined) ? undefined : outputs;
  } catch (error) {
    if (error instanceof AssayError && FOREIGN.has(error.code)) return undefined;
    throw error;
  }
}

async function restoreOne(workspace: string, outputs: readonly Output[], store: Store): Promise<void> {
  mkdirSync(workspace);
  await restoreOutputs(outputs, workspace, store.blobs, EVERY_BYTE);
  for (const output of outputs) {
    if (!sameOutput(observeOutput(workspace, output.path, EVERY_BYTE), output))
      throw new Error(`${output.path} was not restored correctly`);
  }
  rmSync(workspace, { recursive: true, force: true });
}

function sizeOf(output: Output): number {
  return output.kind === 'directory' ? output.entries.length : 1;
}
