// The helper compiles on both architectures: the other one is cross-compiled.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Folder } from '../../../test/hermeticity/rig.ts';

const BUILD = join(import.meta.dirname, '../native/build.sh');

let folder: Folder;
beforeAll(() => {
  folder = new Folder();
});
afterAll(() => folder.remove());

/** With the machine in the ELF header. */
test.each([
  ['x64', 'x86_64-linux-gnu-gcc', 62],
  ['arm64', 'aarch64-linux-gnu-gcc', 183],
])('for %s it compiles without a warning', (name, cross, machine) => {
  const output = folder.at(`helper-${name}`);
  const CC = process.arch === name ? 'cc' : cross;
  execFileSync(BUILD, [output], { env: { ...process.env, CC } });
  expect(readFileSync(output).readUInt16LE(18)).toBe(machine);
});
