// Throws before LMDB maps the index where the process may not map so much: under `ulimit -v`, a map that fails in LMDB's
// addon ends the process.
import { AssayError } from '../../../core/errors.ts';
import { addressSpace } from '../../../system/process/process-memory.ts';
import { STORE } from '../../limits.ts';

/** Throws if the process may not map that many bytes more. */
export function requireAddressSpace(bytes: number): void {
  const { usedBytes, limitBytes } = addressSpace();
  const wanted = bytes + usedBytes + STORE.addressSpaceSlack;
  if (wanted <= limitBytes) return;
  throw new AssayError(
    'ASSAY_ADDRESS_SPACE',
    `the index maps ${gib(wanted)} GiB of addresses, and the limit is ${gib(limitBytes)} GiB (ulimit -v)`,
  );
}

function gib(bytes: number): string {
  return (bytes / 2 ** 30).toFixed(1);
}
