// Whether this process may map as much memory as the index wants. Under `ulimit -v` lmdb's addon would end the whole process where
// the map can't be made, so it is asked for first.
import { readFileSync } from 'node:fs';
import { AssayError } from '../../../core/errors.ts';
import { STORE } from '../../limits.ts';

const LIMIT = /^Max address space +(\d+)/m;

/** Throws if the limit is too low. */
export function requireAddressSpace(bytes: number): void {
  const limit = LIMIT.exec(textOf('/proc/self/limits'))?.[1];
  if (limit === undefined) return; // unlimited, or the kernel does not tell
  const wanted = bytes + addressSpaceInUse() + STORE.addressSpaceSlack;
  if (wanted <= Number(limit)) return;
  throw new AssayError(
    'ASSAY_ADDRESS_SPACE',
    `it maps ${gib(wanted)} GiB of addresses, and the limit is ${gib(Number(limit))} GiB (ulimit -v)`,
  );
}

const IN_USE = /^VmSize:\s*(\d+) kB/m;

function addressSpaceInUse(): number {
  return 1024 * Number(IN_USE.exec(textOf('/proc/self/status'))?.[1] ?? 0);
}

function gib(bytes: number): string {
  return (bytes / 2 ** 30).toFixed(1);
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
