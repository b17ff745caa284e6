// The pages of the documentation by their paths in a checkout. In a bundle, scripts/embedded-pages.ts replaces this
// module by one that holds the texts.
// Guarantee: an installed Assay needs no file of the documentation to print a page.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../../..');

/** Without the decisions: they are for who changes Assay. */
export function readPages(): ReadonlyMap<string, string> {
  const docs = readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md'));
  const guides = readdirSync(join(ROOT, 'wings')).map((name) => `wings/${name}/GUIDE.md`);
  const paths = ['README.md', 'CHANGELOG.md', ...docs.map((name) => `docs/${name}`), ...guides];
  const present = paths.filter((path) => existsSync(join(ROOT, path))).sort();
  return new Map(present.map((path) => [path, readFileSync(join(ROOT, path), 'utf8')]));
}
