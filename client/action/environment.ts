// The strict environment of a command: its declared variables, plus a base that is the same everywhere.
//
//   PATH     a fixed list of system folders (BASE_PATH). Before them come declared tools from elsewhere, and
//            then the programs of the package (program-folders.ts)
//   HOME     an empty scratch folder of the action
//   TMPDIR   an empty scratch folder of the action
//   SHELL    /bin/sh: without it bash, and programs that ask for the user's shell, read /etc/passwd
//   TZ       UTC
//   LC_ALL   C.UTF-8
//
// The fixed part of PATH, SHELL, TZ and LC_ALL are in the key. HOME and TMPDIR are not: their paths differ
// between runs and their content does not. A declared variable replaces the base's, and its value is in the
// key; a declared PATH replaces the fixed list alone. process/tool-variables.ts adds variables for the caches of tools.
import { delimiter, isAbsolute } from 'node:path';
import type { Property } from '../../core/action.ts';
import { AssayError } from '../../core/errors.ts';
import { type AbsPath, absPath } from '../../system/paths/absolute-path.ts';
import { expandPatterns, isNeverPassed } from './declared-variables.ts';
import type { DeclaredVariable } from './request.ts';

const BASE_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

const BASE: Readonly<Record<string, string>> = {
  PATH: BASE_PATH,
  SHELL: '/bin/sh',
  TZ: 'UTC',
  LC_ALL: 'C.UTF-8',
};

/** The names that an environment can hold; declared-variables.ts accepts fewer. */
const VARIABLE_NAME = /^[^=\0]+$/;

export type Variables = Readonly<Record<string, string | undefined>>;

/** The variables in the key. A declared variable that the caller has not set is absent. */
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
  /** Contains the other folders. */
  readonly root: string;
  /** By the file system's clock: every file that changes during the action is newer. */
  readonly madeAtMs: number;
  readonly home: string;
  readonly tmp: string;
  /** Links to the declared tools outside BASE_PATH; absent if there are none. */
  readonly bin?: string | undefined;
}

/**
 * The command's environment: the keyed variables, and scratch folders for HOME and TMPDIR unless declared.
 */
export function actualEnvironment(
  keyed: readonly Property[],
  folders: Pick<ScratchFolders, 'home' | 'tmp' | 'bin'>,
  programPlaces: readonly string[] = [],
): Record<string, string> {
  const variables = new Map([
    ['HOME', folders.home],
    ['TMPDIR', folders.tmp],
  ]);
  for (const { name, value } of keyed) variables.set(name, value);
  const first = [...(folders.bin === undefined ? [] : [folders.bin]), ...programPlaces];
  const path = variables.get('PATH');
  if (first.length > 0) variables.set('PATH', [...first, ...(path ? [path] : [])].join(delimiter));
  return Object.fromEntries(variables);
}

/** The absolute folders of the keyed PATH. */
export function searchPathOf(keyed: readonly Property[]): AbsPath[] {
  const path = keyed.find(({ name }) => name === 'PATH')?.value ?? '';
  return path
    .split(delimiter)
    .filter((entry) => isAbsolute(entry))
    .map(absPath);
}

/**
 * Whether the name suggests a secret. A declared variable is stored with the action, so this deserves a
 * warning.
 */
export function looksSecretVariable(name: string): boolean {
  return /(^|_)(TOKEN|SECRET|PASSWORD|PASSWD|PRIVATE_KEY|API_?KEY|CREDENTIALS?)($|_)/i.test(name);
}

function ownValue(variables: Variables, name: string): string | undefined {
  return Object.hasOwn(variables, name) ? variables[name] : undefined;
}

/**
 * Bytes that are not UTF-8 arrive as U+FFFD. Two different values would share a key, and the command would
 * not get the original bytes.
 */
export function checkText(what: string, text: string): void {
  if (!text.includes('\ufffd')) return;
  throw new AssayError(
    'ASSAY_USAGE',
    `${what} holds bytes that are not UTF-8, which cannot be passed on unchanged`,
  );
}

function checkName(name: string): void {
  if (!VARIABLE_NAME.test(name))
    throw new AssayError('ASSAY_USAGE', `${JSON.stringify(name)} is not a variable name`);
  if (isNeverPassed(name)) throw new AssayError('ASSAY_USAGE', `${name} is never passed to a command`);
}
