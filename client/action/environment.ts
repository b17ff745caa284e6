// The strict environment: what a command sees is what was declared, plus a base that is the same everywhere.
//
//   PATH     a fixed list of system folders (BASE_PATH); declared tools from elsewhere come first
//   HOME     an empty folder of the action's own
//   TMPDIR   an empty folder of the action's own
//   SHELL    /bin/sh: without it bash, and whoever asks for the user's shell, reads /etc/passwd
//   TZ       UTC
//   LC_ALL   C.UTF-8
//
// PATH's fixed part, SHELL, TZ and LC_ALL are in the key. HOME and TMPDIR are not: their names differ from run to run and what
// is in them does not. A declared variable of one of these names takes its place, and is in the key with its value.
import { delimiter } from 'node:path';
import type { Property } from '../../core/action.ts';
import { AssayError } from '../../core/errors.ts';
import { type AbsPath, absPath } from '../../hermeticity/system/absolute-path.ts';
import { expandPatterns, isNeverPassed } from './declared-variables.ts';
import type { DeclaredVariable } from './request.ts';

export const BASE_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

const BASE: Readonly<Record<string, string>> = {
  PATH: BASE_PATH,
  SHELL: '/bin/sh',
  TZ: 'UTC',
  LC_ALL: 'C.UTF-8',
};

/** What an environment can hold; what people may declare is less (declared-variables.ts). */
const VARIABLE_NAME = /^[^=\0]+$/;

export type Variables = Readonly<Record<string, string | undefined>>;

/** The variables that are in the key. A declared one that the caller has not set is simply not there. */
export function keyedEnvironment(declared: readonly DeclaredVariable[], caller: Variables): Property[] {
  const values = new Map(Object.entries(BASE));
  for (const { name, value = ownValue(caller, name) } of expandPatterns(declared, caller)) {
    checkName(name);
    checkText(`the variable ${name}`, value ?? '');
    if (value === undefined) values.delete(name);
    else values.set(name, value);
  }
  return [...values].map(([name, value]) => ({ name, value }));
}

export interface ScratchFolders {
  /** Holds the others. */
  readonly root: string;
  /** By the clock of the file system: what changes while the action runs is not older. */
  readonly madeAtMs: number;
  readonly home: string;
  readonly tmp: string;
  /** Holds the declared tools that BASE_PATH does not reach; absent if there are none. */
  readonly bin?: string | undefined;
}

/** What the command really gets: the keyed variables, and the action's own folders where nothing else was declared. */
export function actualEnvironment(
  keyed: readonly Property[],
  folders: Pick<ScratchFolders, 'home' | 'tmp' | 'bin'>,
): Record<string, string> {
  const variables = new Map([
    ['HOME', folders.home],
    ['TMPDIR', folders.tmp],
  ]);
  for (const { name, value } of keyed) variables.set(name, value);
  const path = variables.get('PATH');
  if (folders.bin !== undefined) variables.set('PATH', path ? `${folders.bin}:${path}` : folders.bin);
  return Object.fromEntries(variables);
}

/** The folders of PATH, as the key has it. */
export function searchPathOf(keyed: readonly Property[]): AbsPath[] {
  const path = keyed.find(({ name }) => name === 'PATH')?.value ?? '';
  return path.split(delimiter).filter(Boolean).map(absPath);
}

/** Names that people give to secrets; a declared one is stored with the action and deserves a warning. */
export function looksSecret(name: string): boolean {
  return /(^|_)(TOKEN|SECRET|PASSWORD|PASSWD|PRIVATE_KEY|API_?KEY|CREDENTIALS?)($|_)/i.test(name);
}

function ownValue(variables: Variables, name: string): string | undefined {
  return Object.hasOwn(variables, name) ? variables[name] : undefined;
}

/**
 * What reaches Assay as bytes that are not UTF-8 arrives as U+FFFD: two different values would look the same and share a
 * key, and the command would not get what it was given.
 */
export function checkText(what: string, text: string): void {
  if (!text.includes('\ufffd')) return;
  throw new AssayError(
    'ASSAY_USAGE',
    `${what} holds bytes that are not UTF-8, which can't be passed on unchanged`,
  );
}

function checkName(name: string): void {
  if (!VARIABLE_NAME.test(name))
    throw new AssayError('ASSAY_USAGE', `${JSON.stringify(name)} is no variable's name`);
  if (isNeverPassed(name)) throw new AssayError('ASSAY_USAGE', `${name} is never passed to a command`);
}
