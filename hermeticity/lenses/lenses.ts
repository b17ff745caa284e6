// Lenses: which names of a listing a program can act on, whatever its script says.
// A listing that only programs with a lens made counts by these names; every other listing counts by all of them.
//
// A lens is stored with a fact under its name, and every later lookup applies it. So a lens never changes: a different
// one gets a new name. listers.ts says which program has which lens, and under which conditions.
// docs/HERMETICITY.md lists the misses that remain.
import type { EntryType } from '../trace/folder-names.ts';

type Counts = (name: string, type: EntryType) => boolean;

/** Of tsc 5 to 7: it collects sources by these extensions, and looks into every folder and link that it includes. */
const TSC = byExtension('ts tsx mts cts js jsx mjs cjs json');

/** Of esbuild without --loader: its own loaders, names without an extension, what Yarn's plug'n'play needs. */
const ESBUILD = byExtension('ts tsx mts cts js jsx mjs cjs css json txt node wasm');

/** Of `go build`, vet and test without //go:embed. */
const GO = byExtension('go c cc cpp cxx m h hh hpp hxx s swig swigcxx syso f for f90 mod sum work');

/** Of Python's importer: modules, and folders that may be packages. A name with a dot is no package. */
const PYTHON = byExtension('py pyc so pth egg egg-link egg-info dist-info');

const LENSES: ReadonlyMap<string, Counts> = new Map([
  ['tsc-1', (name, type) => TSC(name) || isPlace(name, type)],
  [
    'esbuild-1',
    (name, type) => ESBUILD(name) || !name.includes('.') || name.startsWith('.pnp.') || isPlace(name, type),
  ],
  ['go-1', (name, type) => GO(name) || (isPlace(name, type) && !/^[._]/.test(name))],
  ['python-1', (name, type) => PYTHON(name) || (isPlace(name, type) && !name.includes('.'))],
  /* What Python and Node list for a script: all names but caches that only Python and its tools act on. */
  ['runtime-1', (name) => !isPythonCache(name)],
]);

export type LensName = 'tsc-1' | 'esbuild-1' | 'go-1' | 'python-1' | 'runtime-1';

/** Caches that the tools keep elsewhere when Assay runs them: they lie only where somebody ran a tool alone. */
export function isPythonCache(name: string): boolean {
  return name === '__pycache__' || name === '.mypy_cache' || name === '.ruff_cache';
}

/** The name of the lens that shows what any of these shows. "" shows every name. */
export function joinLenses(names: Iterable<LensName>): string {
  return [...new Set(names)].sort().join('+');
}

/** Whether a name counts. Undefined for a lens that this version does not know. */
export function lensNamed(joined: string): Counts | undefined {
  if (joined === '') return () => true;
  const parts = joined.split('+').map((name) => LENSES.get(name));
  if (!parts.every((part) => part !== undefined)) return undefined;
  return (name, type) => parts.some((counts) => counts(name, type));
}

/** A folder, or a link that may lead to one. */
function isPlace(name: string, type: EntryType): boolean {
  return (type === 'd' || type === 'l') && name !== '.git';
}

/** On a file system that ignores case, tools do too. */
function byExtension(extensions: string): (name: string) => boolean {
  const pattern = new RegExp(`\\.(?:${extensions.split(' ').join('|')})$`, 'i');
  return (name) => pattern.test(name);
}
