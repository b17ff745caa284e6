// Replaces the Bun executable by the Node that is installed beside it, with the same arguments.
// Guarantee: it is the same process, so the process id, the standard streams and the parent are unchanged.
//
// Bun's HTTP server reads a body faster than the store writes it, and keeps the rest in memory
// (docs/decisions/0235).
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { bun } from '../../core/bun.ts';
import { AssayError } from '../../core/errors.ts';

/**
 * malloc keeps freed memory in two arenas instead of one for each thread, 16 on two processors. It reads the bound at
 * the start of a process. V8's young generation is not bounded: that costs 5 % of the CPU of small requests
 * (docs/MEASUREMENTS.md#0410).
 */
const ARENAS = { MALLOC_ARENA_MAX: '2' };

/** Returns if this process is Node already. */
export function becomeNode(args: readonly string[]): void {
  if (!bun) return;
  const folder = join(process.execPath, '../node');
  const [node, bundle] = [join(folder, 'node'), join(folder, 'main.cjs')];
  const missing = [node, bundle].find((file) => !existsSync(file));
  if (missing !== undefined)
    throw new AssayError('ASSAY_NO_NODE', `the server runs on Node, but ${missing} does not exist`);
  // NODE_OPTIONS is meant for the caller's own programs.
  const { NODE_OPTIONS: _, ...env } = process.env;
  process.execve?.(node, [node, bundle, ...args], { ...ARENAS, ...env });
  throw new AssayError('ASSAY_NO_NODE', `this executable cannot start ${node}`);
}
