// Topics of `assay help`: a page by its name or path, or an error code.

import { suggestion } from '../../../core/cli/command.ts';
import { AssayError } from '../../../core/errors.ts';

const ERRORS = 'docs/ERRORS.md';

interface Topic {
  readonly name: string;
  /** The first heading of the page. */
  readonly title: string;
  readonly path: string;
}

export function topicsOf(pages: ReadonlyMap<string, string>): Topic[] {
  return [...pages]
    .map(([path, text]) => ({ name: nameOf(path), title: titleOf(text), path }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** `asked`: `server`, `docs/SERVER.md`, `fleet`, `wings/fleet/GUIDE.md` or `ASSAY_STORE_FULL`. */
export function pageFor(asked: string, pages: ReadonlyMap<string, string>): string {
  const topics = topicsOf(pages);
  const topic = topics.find(({ name, path }) => path === asked || name === asked.toLowerCase());
  const text = topic ? pages.get(topic.path) : sectionOf(pages.get(ERRORS) ?? '', asked.toUpperCase());
  if (text !== undefined) return text;
  const hint = suggestion(
    asked.toLowerCase(),
    topics.map(({ name }) => name),
    '',
  );
  throw new AssayError(
    'ASSAY_USAGE',
    `there is no page ${JSON.stringify(asked)}${hint}; \`assay help --help\` lists the pages`,
  );
}

/** `docs/TOOL-CACHES.md` is tool-caches, and `wings/fleet/GUIDE.md` is fleet. */
function nameOf(path: string): string {
  const [, wing] = /^wings\/([^/]+)\//.exec(path) ?? [];
  return wing ?? path.replace(/^docs\/|\.md$/g, '').toLowerCase();
}

function titleOf(text: string): string {
  return /^# (.*)$/m.exec(text)?.[1] ?? '';
}

function sectionOf(page: string, code: string): string | undefined {
  const section = page.split(/^(?=## )/m).find((part) => part.startsWith(`## ${code}\n`));
  return section?.trimEnd().concat('\n');
}
