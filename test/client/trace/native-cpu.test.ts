// Code that was compiled for the CPU of one machine is no hit on a machine with another one. The other
// machine is a mount namespace with another /proc/cpuinfo.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Workshop } from '../../rig/assay.ts';
import { inNamespaces } from '../../rig/users.ts';
import { FIRST_RUN, factIs } from '../run/misses.ts';

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
  shop.write('a.c', 'int a;\n');
  shop.write('flags', '-O1\n-march=native\n');
  shop.write('Makefile', 'CFLAGS = -march=native\nout: a.c\n\t$(CC) $(CFLAGS) -c a.c -o out\n');
});
afterEach(() => shop.remove());

/** The same machine with a CPU that has one feature more. */
function otherMachine(): string[] {
  const info = readFileSync('/proc/cpuinfo', 'utf8').replace(
    /^((?:flags|Features)\s*:.*)$/gm,
    '$1 assaytest',
  );
  const file = join(shop.folder, 'cpuinfo');
  writeFileSync(file, info);
  return [...inNamespaces('--mount'), 'sh', '-c', 'mount --bind "$0" /proc/cpuinfo && exec "$@"', file];
}

const FLAGS = ['run', '--input', 'a.c', '--input', 'flags', '--input', 'Makefile', '--output', 'out'];

/** What each of four runs says: twice here, then on the other machine, then here again. */
async function said(command: readonly string[], ...flags: string[]): Promise<string[]> {
  const lines: string[] = [];
  for (const wrapper of [['env'], ['env'], otherMachine(), ['env']]) {
    rmSync(join(shop.workspace, 'out'), { force: true });
    const { stderr, code } = await shop.assayIn(wrapper, [...FLAGS, ...flags, '--', ...command]);
    expect(code, stderr).toBe(0);
    lines.push(/^assay: (hit|miss.*?(?=;|$))/m.exec(stderr)?.[1] ?? stderr);
  }
  return lines;
}

describe('on a machine with another CPU', () => {
  test.each<readonly [string, readonly string[], readonly string[]]>([
    ['gcc -march=native', ['gcc', '-march=native', '-c', 'a.c', '-o', 'out'], []],
    ['a makefile that passes it on', ['make'], []],
    ['a file of arguments', ['gcc', '@flags', '-c', 'a.c', '-o', 'out'], []],
    ['a declared variable', ['sh', '-c', 'gcc $CFLAGS -c a.c -o out'], ['--env', 'CFLAGS=-mtune=native']],
  ])('%s is no hit', async (_, command, flags) => {
    expect(await said(command, ...flags)).toEqual([
      expect.stringContaining(FIRST_RUN),
      'hit',
      expect.stringContaining(factIs('the kind of processor', 'another', 'which code was compiled for')),
      'hit',
    ]);
  });

  test('code for every CPU is a hit', async () => {
    const lines = await said(['gcc', '-c', 'a.c', '-o', 'out']);
    expect(lines).toEqual([expect.stringContaining(FIRST_RUN), 'hit', 'hit', 'hit']);
  });
});
