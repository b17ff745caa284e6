// The machine, as far as it may matter to any action: operating system, instruction set, C library.
import { arch, platform } from 'node:process';
import { familySync, versionSync } from 'detect-libc';
import type { Property } from '../core/action.ts';

/** Named as REAPI names them. */
const ISA: Readonly<Record<string, string>> = { arm64: 'aarch64', x64: 'x86-64' };

export function platformProperties(): Property[] {
  return [
    { name: 'OSFamily', value: platform },
    { name: 'ISA', value: ISA[arch] ?? arch },
    { name: 'libc', value: `${familySync() ?? 'unknown'}-${versionSync() ?? 'unknown'}` },
  ];
}
