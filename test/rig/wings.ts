// What the wings of this checkout add, for tests of a whole server. The wings are found by their folders, so that a test of
// the trunk holds with and without them.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Wing } from '../../core/cli/wing.ts';
import type { ServerPart, ServerPort } from '../../server/server-port.ts';
import { ROOT, wingNames } from '../project/sources.ts';

export async function serverParts(): Promise<readonly ServerPart[]> {
  const parts: ServerPart[] = [];
  for (const file of filesOfWings('index.ts')) {
    const { wing }: { wing: Wing & Partial<ServerPort> } = await import(file);
    if (wing.server) parts.push(await wing.server());
  }
  return parts;
}

/** The file at this path of each wing that has it. */
export function filesOfWings(path: string): readonly string[] {
  return wingNames()
    .map((name) => join(ROOT, 'wings', name, path))
    .filter((file) => existsSync(file));
}
