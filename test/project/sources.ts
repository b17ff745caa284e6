// The project's sources as the tests of its layout see them: the files of each room and what they import.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';

export const ROOT = join(import.meta.dirname, '../..');

export interface Import {
  readonly file: string;
  readonly specifier: string;
  /** The imported file, or nothing for a package or one of Node's modules. */
  readonly target?: string | undefined;
  /** A type vanishes at run time. A late import runs when its code is reached, not when the module loads. */
  readonly kind: 'value' | 'type' | 'late';
}

const IMPORT =
  /^\s*(?:import|export)\s(?<clause>[^'"]*?)from\s+['"](?<from>[^'"]+)['"]|\bimport\(\s*['"](?<late>[^'"]+)['"]|^import\s+['"](?<bare>[^'"]+)['"]/gm;

const EXPORT = /^export (?:abstract )?(?:async )?(?:const|function\*?|class|interface|type) (\w+)/gm;

export function sourcesOf(room: string): string[] {
  return readdirSync(join(ROOT, room), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));
}

/** The names of the wings that this checkout has. */
export function wingNames(): string[] {
  const entries = readdirSync(join(ROOT, 'wings'), { withFileTypes: true });
  return entries
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
}

/** The tests and benchmarks of a wing lie in the wing, so that they go with it. */
export function isTestOfWing(file: string): boolean {
  return /^wings\/[^/]+\/(test|bench)\//.test(file);
}

export function exportedNames(source: string): string[] {
  return [...source.matchAll(EXPORT)].map(([, name = '']) => name);
}

export function importsOf(file: string): Import[] {
  return importsIn(file, readFileSync(join(ROOT, file), 'utf8'));
}

export function importsIn(file: string, source: string): Import[] {
  return [...source.matchAll(IMPORT)].map(({ groups = {} }) => {
    const specifier = groups.from ?? groups.late ?? groups.bare ?? '';
    return {
      file,
      specifier,
      target: specifier.startsWith('.') ? normalize(join(dirname(file), specifier)) : undefined,
      kind: groups.late !== undefined ? 'late' : groups.clause?.startsWith('type ') ? 'type' : 'value',
    };
  });
}
