// The memory of this process, as the kernel reports it: its address space and its mapped file pages.
// `requireAddressSpace` throws before LMDB maps the index: under `ulimit -v`, a map that fails in LMDB's
// addon ends the process.
import { readFileSync } from 'node:fs';
import { AssayError } from '../../../core/errors.ts';
import { STORE } from '../../limits.ts';

const LIMIT = /^Max address space +(\d+)/m;
const IN_USE = /^VmSize:\s*(\d+) kB/m;
const MAPPED = /^RssFile:\s+(\d+) kB/m;

/** Throws if the process may not map that many bytes more. */
export function requireAddressSpace(bytes: number): void {
  const limit = LIMIT.exec(textOf('/proc/self/limits'))?.[1];
  if (limit === undefined) return; // Unlimited, or the kernel does not say.
  const wanted = bytes + bytesIn(IN_USE) + STORE.addressSpaceSlack;
  if (wanted <= Number(limit)) return;
  throw new AssayError(
    'ASSAY_ADDRESS_SPACE',
    `the index maps ${gib(wanted)} GiB of addresses, and the limit is ${gib(Number(limit))} GiB (ulimit -v)`,
  );
}

/**
 * How much mapped file content is resident in this process; 0 if the kernel does not say. LMDB maps its whole
 * file. Each page that was read stays mapped, and counts as memory of the process, until the kernel takes it
 * back.
 */
export function mappedBytes(): number {
  return bytesIn(MAPPED);
}

function bytesIn(pattern: RegExp): number {
  return 1024 * Number(pattern.exec(textOf('/proc/self/status'))?.[1] ?? 0);
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
