// The native tracer on both architectures: the other one is cross-compiled. The table of system calls is
// compared with the kernel headers of each, so that no call is forgotten and none has a wrong number.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Folder, NATIVE } from '../rig.ts';
import { TRACED_CALLS } from '../witness/calls.ts';

interface Architecture {
  readonly compiler: string;
  /** e_machine in the ELF header. */
  readonly machine: number;
  /** Some system call numbers, which the kernel never changes. */
  readonly known: Readonly<Record<string, number>>;
}

const ARCHITECTURES: Readonly<Record<string, Architecture>> = {
  x64: {
    compiler: process.arch === 'x64' ? 'cc' : 'x86_64-linux-gnu-gcc',
    machine: 62,
    known: {
      open: 2,
      stat: 4,
      lstat: 6,
      access: 21,
      connect: 42,
      execve: 59,
      getdents: 78,
      rename: 82,
      openat: 257,
      openat2: 437,
    },
  },
  arm64: {
    compiler: process.arch === 'arm64' ? 'cc' : 'aarch64-linux-gnu-gcc',
    machine: 183,
    known: { openat: 56, getdents64: 61, newfstatat: 79, connect: 203, execve: 221, openat2: 437 },
  },
};

const harmless = new Set(
  readFileSync(join(NATIVE, 'harmless.txt'), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#')),
);

/** Other names that the kernel headers define under the same prefix. */
const NO_CALLS = new Set(['syscalls', 'arch_specific_syscall']);

let folder: Folder;
beforeAll(() => {
  folder = new Folder();
});
afterAll(() => folder.remove());

for (const [name, { compiler, machine, known }] of Object.entries(ARCHITECTURES)) {
  describe(`for ${name}`, () => {
    it('the helper compiles without a warning', () => {
      const output = folder.at(`helper-${name}`);
      execFileSync(join(NATIVE, 'build.sh'), [output], { env: { ...process.env, CC: compiler } });
      expect(readFileSync(output).readUInt16LE(18)).toBe(machine);
    });

    it('the table has the numbers of the kernel headers', () => {
      const headers = numbersInHeaders(compiler);
      const traced = numbersInTable(compiler);
      expect(Object.fromEntries(Object.keys(known).map((call) => [call, traced.get(call)]))).toEqual(known);
      for (const [call, number] of traced)
        expect([call, headers.get(call) ?? number]).toEqual([call, number]);
    });

    it('every call of the kernel headers is either traced or known to be harmless', () => {
      const traced = numbersInTable(compiler);
      const headers = [...numbersInHeaders(compiler).keys()];
      expect(headers.filter((call) => traced.has(call) === harmless.has(call))).toEqual([]);
    });
  });
}

describe('the strace tracer', () => {
  it('traces the same calls as the helper, except those about cores, and the calls that create processes', () => {
    const table = readFileSync(join(NATIVE, 'calls.def'), 'utf8');
    const traced = [...table.matchAll(/^CALL\((\w+), (?!\w+_CORES)/gm)].map(([, call = '']) => call);
    expect(new Set(TRACED_CALLS.keys())).toEqual(new Set([...traced, 'fork', 'vfork', 'getsockname']));
  });
});

function preprocess(compiler: string, source: string, ...flags: readonly string[]): string {
  return execFileSync(compiler, ['-E', '-I', NATIVE, ...flags, '-x', 'c', '-'], {
    input: source,
    encoding: 'utf8',
  });
}

function numbersInHeaders(compiler: string): Map<string, number> {
  const names = [
    ...preprocess(compiler, '#include <asm/unistd.h>\n', '-dM').matchAll(/^#define __NR_(\w+)/gm),
  ];
  const calls = names.map(([, call = '']) => call).filter((call) => !NO_CALLS.has(call));
  const source = `#include <asm/unistd.h>\n${calls.map((call) => `@${call} = __NR_${call} ;`).join('\n')}\n`;
  return assignments(preprocess(compiler, source, '-P'));
}

function numbersInTable(compiler: string): Map<string, number> {
  const macro = '#define CALL(name, meaning, folder, path, flags) @name = __NR_##name ;';
  return assignments(preprocess(compiler, `#include "numbers.h"\n${macro}\n#include "calls.def"\n`, '-P'));
}

function assignments(text: string): Map<string, number> {
  return new Map(
    [...text.matchAll(/@\s*(\w+) = (\d+|\(\d+ \+ \d+\)) ;/g)].map(([, call = '', value = '']) => [
      call,
      sum(value),
    ]),
  );
}

/** Some headers define a number as a sum. */
function sum(text: string): number {
  return [...text.matchAll(/\d+/g)].reduce((total, [digits]) => total + Number(digits), 0);
}
