// The docs lead somewhere: every decision page is in the index, and every link or path that a page or a
// comment names is a file of this repository. A renamed page or source file fails here, with the places that
// still use the old name.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isOfMissingWing } from './missing-wings.ts';

const ROOT = join(import.meta.dirname, '../..');
const SOURCES = [
  'bench',
  'bin',
  'client',
  'core',
  'examples',
  'hermeticity',
  'scripts',
  'server',
  'store',
  'system',
  'test',
  'wings',
];
const DECISIONS = 'docs/decisions';
const MEASUREMENTS = 'docs/MEASUREMENTS.md';

const PAGES = readdirSync(join(ROOT, DECISIONS)).filter((name) => /^\d{4}-/.test(name));
const NOTES = [...read(MEASUREMENTS).matchAll(/^<a id="(\d{4})"><\/a>$/gm)].map(([, number]) => number ?? '');
const DOCS = [
  ...filesBelow('docs'),
  ...filesBelow('.', 1),
  ...SOURCES.flatMap((room) => filesBelow(room)),
].filter((path) => path.endsWith('.md'));
const CODE = SOURCES.flatMap((room) => filesBelow(room)).filter((path) =>
  /\.(ts|mjs|js|c|h|sh|py)$/.test(path),
);

describe('the index of decisions', () => {
  const rows = [
    ...read(`${DECISIONS}/README.md`).matchAll(/^\| (\d{4}) \| \[(.+)\]\((.+)\) \| (.+) \|$/gm),
  ].map(([, number = '', title = '', link = '', status = '']) => ({ number, title, link, status }));

  test('has one row for each page and each note, with its title', () => {
    const titled = (path: string, heading: RegExp) =>
      [...read(path).matchAll(heading)].map(([, number, title]) => `${number} ${title}`);
    const pages = PAGES.flatMap((page) => titled(`${DECISIONS}/${page}`, /^# (\d{4}): (.+)$/gm));
    const notes = titled(MEASUREMENTS, /^### (\d{4}): (.+)$/gm);
    expect(pages).toHaveLength(PAGES.length);
    expect(notes).toHaveLength(NOTES.length);
    expect(rows.map(({ number, title }) => `${number} ${title}`).sort()).toEqual([...pages, ...notes].sort());
  });

  test('leads from each row to the page of that number, and says its status', () => {
    for (const { number, link, status } of rows) {
      const page = PAGES.find((name) => name.startsWith(number));
      expect(link).toBe(page ?? `../MEASUREMENTS.md#${number}`);
      expect(status).toMatch(page === undefined ? /^(measurement|superseded by )/ : /^accepted/);
    }
  });
});

test('each link of a page leads to a file, and to a section that it has', () => {
  const broken = DOCS.flatMap((path) =>
    [...withoutCode(read(path)).matchAll(/\]\((?!https?:|mailto:)([^)\s]+)\)/g)]
      .map(([, link = '']) => link)
      .filter((link) => !leadsSomewhere(path, link))
      .map((link) => `${path}: ${link}`),
  );
  expect(broken).toEqual([]);
});

test('each doc page and decision that a page or a comment names is there', () => {
  const broken = [...DOCS, ...CODE].flatMap((path) => {
    const text = read(path);
    const named = [...text.matchAll(/\bdocs\/(?:decisions\/)?[A-Za-z0-9-]+(?:\.\w+)?(?:#\d{4})?/g)].map(
      ([it]) => it,
    );
    const numbered = [...text.matchAll(/\bdecisions? (0\d{3})\b/g)].map(
      ([, number]) => `${DECISIONS}/${number}`,
    );
    return [...named, ...numbered].filter((it) => !isPage(it)).map((it) => `${path}: ${it}`);
  });
  expect(broken).toEqual([]);
});

test('each source file and folder that a page names is there', () => {
  const path = new RegExp(`^(?:${[...SOURCES, 'docs'].join('|')})/[\\w./@-]*(?:\\.\\w+|/)$`);
  const broken = DOCS.filter((page) => page !== 'CHANGELOG.md').flatMap((page) =>
    [...read(page).matchAll(/`([^`\s]+)`/g)]
      .map(([, name = '']) => name)
      .filter((name) => path.test(name) && !existsSync(join(ROOT, name)) && !isOfMissingWing(name))
      .map((name) => `${page}: ${name}`),
  );
  expect(broken).toEqual([]);
});

test('no page or source holds a conflict that a merge left', () => {
  const left = [...DOCS, ...CODE].filter((path) => /^(?:<{7}|>{7}) /m.test(read(path)));
  expect(left).toEqual([]);
});

/**
 * `docs/ERRORS.md`, `docs/decisions/0017` with or without the rest of its name, `docs/MEASUREMENTS.md#0120`.
 */
function isPage(name: string): boolean {
  const [file = '', section] = name.split('#');
  if (section !== undefined) return file === MEASUREMENTS && NOTES.includes(section);
  const number = /^docs\/decisions\/(\d{4})$/.exec(file)?.[1];
  if (number !== undefined) return PAGES.some((page) => page.startsWith(number));
  return existsSync(join(ROOT, file));
}

function leadsSomewhere(from: string, link: string): boolean {
  const [file = '', section] = link.split('#');
  const target = file === '' ? from : normalize(join(dirname(from), file));
  if (!existsSync(join(ROOT, target))) return isOfMissingWing(target);
  return section === undefined || sectionsOf(read(target)).includes(section);
}

/** What GitHub calls the sections of a page, and those that the page names itself. */
function sectionsOf(text: string): string[] {
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
  return [...headings, ...[...text.matchAll(/<a id="([^"]+)">/g)].map(([, id = '']) => id)];
}

function withoutCode(text: string): string {
  return text.replace(/^```[\s\S]*?^```/gm, '').replace(/`[^`\n]*`/g, '');
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

function filesBelow(folder: string, depth = Number.POSITIVE_INFINITY): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '.' ? entry.name : `${folder}/${entry.name}`;
    if (!entry.isDirectory()) return entry.isFile() ? [path] : [];
    return depth === 1 || ['node_modules', 'dist'].includes(entry.name) ? [] : filesBelow(path, depth - 1);
  });
}
