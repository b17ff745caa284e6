// The platform properties in every key: operating system, instruction set, C library.
import { readFileSync } from 'node:fs';
import type { Property } from '../../core/action.ts';

/** REAPI's names. */
const ISA: Readonly<Record<string, string>> = { arm64: 'aarch64', x64: 'x86-64' };

let known: readonly Property[] | undefined;

/** Constant for the life of the process: it has already loaded its C library. */
export function platformProperties(): readonly Property[] {
  known ??= [
    { name: 'OSFamily', value: process.platform },
    { name: 'ISA', value: ISA[process.arch] ?? process.arch },
    { name: 'libc', value: libc() },
  ];
  return known;
}

/** The script `ldd` contains the library's version. process.report knows it too, but takes 3 ms. */
function libc(): string {
  const version = versionInLdd() ?? versionInReport();
  return version === undefined ? 'unknown' : `glibc-${version}`;
}

function versionInLdd(): string | undefined {
  try {
    return /\(.*(?:GLIBC|GNU libc).*\) (\d+\.\d+)/.exec(readFileSync('/usr/bin/ldd', 'latin1'))?.[1];
  } catch {
    return undefined;
  }
}

function versionInReport(): string | undefined {
  const report: { header?: { glibcVersionRuntime?: string } } = process.report.getReport();
  return report.header?.glibcVersionRuntime;
}
