// Restores sampled results into empty folders, as a hit would, and compares what then lies there with what the results
// say: the proof that a store gives back what was put into it, and not only that its bytes are right.
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../core/errors.ts';
import { ROOT } from '../../core/path.ts';
import { decodeResult } from '../../core/result.ts';
import { removeTemporaryFolder, temporaryFolder } from '../../hermeticity/temporary-folder.ts';
import type { ResultAddress, Store } from '../../store/store.ts';
import { digestFile, type FileDigests } from '../inputs/file-digest.ts';
import { type Output, observeOutput, outputsNamedBy, sameOutput } from '../outputs.ts';
import { readBlob } from '../read-blob.ts';
import { restoreOutputs } from '../restore.ts';

export interface TestRestore {
  readonly restored: number;
  readonly files: number;
  /** In words, one for each result that did not come back as it was. */
  readonly failures: readonly string[];
}

export async function testRestore(addresses: readonly ResultAddress[], store: Store): Promise<TestRestore> {
  const folder = temporaryFolder('verify');
  const failures: string[] = [];
  let files = 0;
  try {
    for (const [number, address] of addresses.entries()) {
      try {
        files += await restoreOne(join(folder, String(number)), address, store);
      } catch (error) {
        failures.push(`${address.key}: ${messageOf(error)}`);
      }
    }
  } finally {
    removeTemporaryFolder(folder);
  }
  return { restored: addresses.length - failures.length, files, failures };
}

/** Remembers nothing: what lies there is read. */
const EVERY_BYTE: FileDigests = { digest: (_name, _stats, locate) => digestFile(locate()).digest };

/** How many files, links and folders it wrote. */
async function restoreOne(workspace: string, address: ResultAddress, store: Store): Promise<number> {
  const stored = await store.results.get(address);
  if (!stored) throw new Error('the result is gone');
  const result = decodeResult(stored.bytes);
  const outputs = await outputsNamedBy(result, ROOT, ({ hash }) => readBlob(hash, store.blobs));
  mkdirSync(workspace);
  await restoreOutputs(outputs, workspace, store.blobs, EVERY_BYTE);
  for (const output of outputs) {
    if (!sameOutput(observeOutput(workspace, output.path, EVERY_BYTE), output))
      throw new Error(`${output.path} did not come back as it was`);
  }
  rmSync(workspace, { recursive: true, force: true });
  return outputs.reduce((count, output) => count + sizeOf(output), 0);
}

function sizeOf(output: Output): number {
  return output.kind === 'directory' ? output.entries.length : 1;
}
