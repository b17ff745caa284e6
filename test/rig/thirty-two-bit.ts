// A 32-bit program that ends with 0, assembled by hand: no 32-bit compiler or library is needed.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';

interface Machine {
  /** e_machine and e_flags of the ELF header. */
  readonly number: number;
  readonly flags: number;
  readonly exit0: readonly number[];
}

const MACHINES: Readonly<Partial<Record<string, Machine>>> = {
  // mov r0, #0; mov r7, #1; svc 0
  arm64: { number: 40, flags: 0x5000200, exit0: [0, 0, 0xa0, 0xe3, 1, 0x70, 0xa0, 0xe3, 0, 0, 0, 0xef] },
  // mov eax, 1; xor ebx, ebx; int 0x80
  x64: { number: 3, flags: 0, exit0: [0xb8, 1, 0, 0, 0, 0x31, 0xdb, 0xcd, 0x80] },
};

const BASE = 0x10000;
const HEADER = 52;
const SEGMENT = 32;

/**
 * False if this machine cannot run it: some processors have no 32-bit mode, and some kernels do not use it.
 */
export function makeThirtyTwoBit(path: string): boolean {
  const machine = MACHINES[process.arch];
  if (!machine) return false;
  writeFileSync(path, elf(machine), { mode: 0o755 });
  return spawnSync(path).status === 0;
}

function elf({ number, flags, exit0 }: Machine): Buffer {
  const size = HEADER + SEGMENT + exit0.length;
  const file = Buffer.alloc(size);
  file.set([0x7f, 0x45, 0x4c, 0x46, 1, 1, 1]);
  file.writeUInt16LE(2, 16);
  file.writeUInt16LE(number, 18);
  [1, BASE + HEADER + SEGMENT, HEADER, 0, flags].forEach((word, index) => {
    file.writeUInt32LE(word, 20 + 4 * index);
  });
  [HEADER, SEGMENT, 1].forEach((half, index) => {
    file.writeUInt16LE(half, 40 + 2 * index);
  });
  const LOADED_READ_EXECUTE = [1, 0, BASE, BASE, size, size, 5, 0x1000];
  LOADED_READ_EXECUTE.forEach((word, index) => {
    file.writeUInt32LE(word, HEADER + 4 * index);
  });
  file.set(exit0, HEADER + SEGMENT);
  return file;
}
