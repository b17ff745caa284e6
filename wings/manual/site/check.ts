// Checks the built pages: each link and each anchor exists, and nothing is loaded from another server.
import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

export const BASE = '/docs/';

export function checkSite(folder: string, files: readonly string[]): void {
  const present = new Set(files);
  const pages = new Map(
    files
      .filter((file) => file.endsWith('.html'))
      .map((file) => [file, readFileSync(join(folder, file), 'utf8')]),
  );
  const anchors = new Map([...pages].map(([file, text]) => [file, new Set(values(text, 'id'))]));
  const wrong: string[] = [];
  for (const [file, text] of pages) {
    for (const url of [...values(text, 'src'), ...loads(text)])
      if (/^(?:[a-z]+:)?\/\//i.test(url)) wrong.push(`${file} loads ${url}`);
    for (const href of values(text, 'href')) {
      if (/^[a-z]+:/i.test(href)) continue;
      const [path = '', anchor = ''] = href.split('#');
      const target = fileOf(file, path);
      if (!present.has(target)) wrong.push(`${file} links to ${href}, which is no file`);
      else if (anchor !== '' && anchors.get(target)?.has(decodeURIComponent(anchor)) !== true)
        wrong.push(`${file} links to ${href}, which is no anchor`);
    }
  }
  if (wrong.length > 0) throw new Error(`the pages have faults:\n${wrong.join('\n')}`);
}

/** What `<link>` elements load. */
function loads(text: string): string[] {
  return [...text.matchAll(/<link\b[^>]*>/g)].flatMap(([link]) => values(link, 'href'));
}

function values(text: string, name: string): string[] {
  const found = text.matchAll(new RegExp(`<[a-z][^<>]*?\\s${name}="([^"]*)"`, 'g'));
  return [...found].map(([, value = '']) => value.replaceAll('&amp;', '&'));
}

function fileOf(page: string, path: string): string {
  if (path === '') return page;
  const file = path.startsWith(BASE) ? path.slice(BASE.length) : posix.join(posix.dirname(page), path);
  if (file === '' || file === '.' || file.endsWith('/')) return posix.join(file, 'index.html');
  return /\.\w+$/.test(file) ? file : `${file}.html`;
}
