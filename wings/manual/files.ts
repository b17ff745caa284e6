// The files of the built pages, by their path below /docs/. site/build.ts writes the list.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The list lies among the pages. */
export const LIST = 'files.json';

export interface DocsFile {
  readonly path: string;
  /** The digests of the inline scripts of a page, for its Content-Security-Policy. */
  readonly scripts: readonly string[];
  /** Its name changes with its content, so a browser keeps it for good. */
  readonly isVersioned: boolean;
}

/** Beside the folder of the bundle, which is dist/node or that of a package; in dist/ for the sources of a checkout. */
export const PLACES: readonly string[] = ['../docs', '../../dist/docs'].map((place) =>
  join(import.meta.dirname, place),
);

/** By path below /docs/. Undefined: this build has none. */
export function findDocs(places: readonly string[]): ReadonlyMap<string, DocsFile> | undefined {
  const folder = places.find((place) => existsSync(join(place, LIST)));
  if (folder === undefined) return undefined;
  const listed: unknown = JSON.parse(readFileSync(join(folder, LIST), 'utf8'));
  const files = new Map<string, DocsFile>();
  if (!Array.isArray(listed)) return undefined;
  for (const { path, scripts } of listed.filter(isListed))
    for (const url of urlsOf(path))
      files.set(url, { path: join(folder, path), scripts, isVersioned: path.startsWith('assets/') });
  return files;
}

/** A page also has its name without `.html`, and the first page of a folder is the folder. */
function urlsOf(path: string): string[] {
  if (path === 'index.html' || path.endsWith('/index.html'))
    return [path, path.slice(0, -'index.html'.length)];
  return path.endsWith('.html') ? [path, path.slice(0, -'.html'.length)] : [path];
}

function isListed(value: unknown): value is { path: string; scripts: string[] } {
  return (
    typeof value === 'object' &&
    value !== null &&
    'path' in value &&
    typeof value.path === 'string' &&
    'scripts' in value &&
    Array.isArray(value.scripts)
  );
}
