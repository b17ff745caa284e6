// The pages of an installation: README, docs/ and the guides of the wings, in the folders that they have in a checkout.
// Guarantee: each link between them leads to a file that is installed. A link to a source or a test becomes its text.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { ROOT } from './places.ts';

export function installDocs(folder: string): void {
  const pages = installedPages();
  for (const path of pages) {
    const target = join(folder, path);
    mkdirSync(dirname(target), { recursive: true });
    if (path.endsWith('.md')) writeFileSync(target, withoutDeadLinks(path, pages));
    else cpSync(join(ROOT, path), target);
  }
}

function installedPages(): Set<string> {
  const docs = readdirSync(join(ROOT, 'docs'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length + 1));
  const guides = readdirSync(join(ROOT, 'wings'))
    .map((name) => `wings/${name}/GUIDE.md`)
    .filter((path) => existsSync(join(ROOT, path)));
  return new Set(['README.md', 'CHANGELOG.md', 'LICENSE', 'SECURITY.md', ...docs, ...guides].sort());
}

/** `[text](path)` and `![text](path)`; an address elsewhere stays. */
function withoutDeadLinks(path: string, pages: ReadonlySet<string>): string {
  const leads = (link: string) => {
    const [target = ''] = link.split('#');
    return /^[a-z]+:/.test(link) || target === '' || pages.has(normalize(join(dirname(path), target)));
  };
  return readFileSync(join(ROOT, path), 'utf8').replaceAll(
    /!?\[((?:[^[\]]|\[[^[\]]*\])*)\]\(([^()\s]+)\)/g,
    (whole, text: string, link: string) => (leads(link) ? whole : text),
  );
}
