// The shell scripts that pnpm (and yarn, and npm on some systems) puts into node_modules/.bin instead of links.
// Such a script starts a program of a package with an interpreter that it searches on PATH: both belong to the tool.
import { readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

export interface PackageShim {
  /** The interpreter that it searches on PATH. */
  readonly program?: string;
  /** The file that it starts. */
  readonly target?: string;
}

const PROGRAMS = /\/node_modules\/\.bin\/[^/]+$/;
/** Generated scripts are smaller; a program that was copied here is larger. */
const MOST_BYTES = 1 << 15;
const BASE = /^basedir=\$\(dirname /m;
const START = /^\s*exec ([\w.+-]+) +"\$basedir\/([^"]+)"/m;
const START_ALONE = /^\s*(?:exec )?"\$basedir\/([^"]+)" +"\$@"/m;

/** Undefined for any other file. `file`: a real path. */
export function packageShimAt(file: string): PackageShim | undefined {
  if (!PROGRAMS.test(file) || statSync(file).size > MOST_BYTES) return undefined;
  const text = readFileSync(file, 'utf8');
  if (!text.startsWith('#!/bin/sh') || !BASE.test(text)) return undefined;
  const folder = dirname(file);
  const [, program, started = START_ALONE.exec(text)?.[1]] = START.exec(text) ?? [];
  const target = started === undefined ? undefined : join(folder, started);
  return {
    ...(program !== undefined && { program }),
    ...(target !== undefined && isFile(target) && { target }),
  };
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}
