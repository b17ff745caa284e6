// Guesses the variables that a step uses, from its script and the files that it reads.
// A tracer cannot see variable accesses, so the names appear only in remarks and are never declared.

import { readFileSync, statSync } from 'node:fs';
import { INIT } from './limits.ts';

/** Variables that every command has, or that shells and make set. */
const GIVEN: ReadonlySet<string> = new Set(
  'PATH HOME TMPDIR SHELL TZ LC_ALL PWD OLDPWD IFS RANDOM PPID UID LINENO MAKE MAKEFLAGS CURDIR MAKECMDGOALS MAKEFILE_LIST'.split(
    ' ',
  ),
);

const IN_CODE: readonly RegExp[] = [
  /\bprocess\.env(?:\.|\[['"])([A-Za-z_]\w*)/g,
  /\b(?:Bun|Deno)\.env(?:\.get\(['"]|\.|\[['"])([A-Z_]\w*)/g,
  /\bos\.environ(?:\.get\(|\[)['"]([A-Za-z_]\w*)/g,
  /\b(?:getenv|Getenv|LookupEnv)\(\s*['"]([A-Za-z_]\w*)/g,
  /\bENV(?:\.fetch\(|\[)['"]([A-Za-z_]\w*)/g,
  /\benv::var(?:_os)?\(\s*"([A-Za-z_]\w*)/g,
  /\benv!\(\s*"([A-Za-z_]\w*)/g,
];

/** Upper case only: others are most likely the script's own. */
const IN_SCRIPTS = /\$(?:\(|\{)?([A-Z_][A-Z0-9_]*)\b/g;
const ASSIGNED = /(?:^|[\s;&|(])(?:export\s+|readonly\s+|local\s+)?([A-Z_][A-Z0-9_]*)\s*(?::{0,3}|[+])=/gm;
const LOOPED = /\b(?:for|read)\s+(?:-\w+\s+)*([A-Z_][A-Z0-9_]*)\b/g;

const SCRIPTS = /(?:^|\/)(?:GNUm|M|m)akefile$|\.(?:mk|sh|bash)$/;

/** `script`: the shell line. `files`: system paths of the files it read. Sorted. */
export function variablesIn(script: string, files: readonly string[]): string[] {
  const found = new Set(namesInScript(script));
  for (const file of files.slice(0, INIT.variablesFiles)) {
    const text = textOf(file);
    const names = SCRIPTS.test(file) || text.startsWith('#!/bin/') ? namesInScript(text) : namesInCode(text);
    for (const name of names) found.add(name);
  }
  return [...found].filter((name) => !GIVEN.has(name) && !name.startsWith('ASSAY_')).sort();
}

function namesInCode(text: string): string[] {
  return IN_CODE.flatMap((pattern) => namesBy(pattern, text));
}

function namesInScript(text: string): string[] {
  const own = new Set([...namesBy(ASSIGNED, text), ...namesBy(LOOPED, text)]);
  return [...namesBy(IN_SCRIPTS, text).filter((name) => !own.has(name)), ...namesInCode(text)];
}

function namesBy(pattern: RegExp, text: string): string[] {
  return [...text.matchAll(pattern)].map(([, name = '']) => name);
}

function textOf(file: string): string {
  try {
    const stats = statSync(file);
    return stats.isFile() && stats.size <= INIT.variablesBytes ? readFileSync(file, 'utf8') : '';
  } catch {
    return '';
  }
}
