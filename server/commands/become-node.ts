// The server runs on Node. The executable, which Bun compiled, becomes the Node that is installed beside it, with the same
// arguments, in the same process: so its id, its standard streams and its parent stay as they were.
//
// Bun's HTTP server reads a body faster than the store takes it, and keeps the rest in memory (docs/decisions/0235).
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { bun } from '../../core/bun.ts';
import { AssayError } from '../../core/errors.ts';

/** Returns where this is Node already. */
export function becomeNode(args: readonly string[]): void {
  if (!bun) return;
  const folder = join(process.execPath, '../node');
  const [node, bundle] = [join(folder, 'node'), join(folder, 'main.cjs')];
  const missing = [node, bundle].find((file) => !existsSync(file));
  if (missing !== undefined)
    throw new AssayError('ASSAY_NO_NODE', `the server runs on Node, and there is no ${missing}`);
  // What is meant for the caller's own programs is not meant for this one.
  const { NODE_OPTIONS: _, ...env } = process.env;
  process.execve?.(node, [node, bundle, ...args], env);
  throw new AssayError('ASSAY_NO_NODE', `${node} can not be started by this executable`);
}
