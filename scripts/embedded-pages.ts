// A plugin of rolldown: the bundle holds the pages that `assay help` prints, because an installation may have no folder
// of documentation (a container image, or a Debian without /usr/share/doc).
import { join } from 'node:path';
import type { Plugin } from 'rolldown';

const PAGES = join(import.meta.dirname, '../wings/manual/help/pages.ts');

export const embeddedPages: Plugin = {
  name: 'embedded-pages',
  async load(id) {
    if (id !== PAGES) return null;
    const { readPages }: { readPages(): ReadonlyMap<string, string> } = await import(PAGES);
    return `export const readPages = () => new Map(${JSON.stringify([...readPages()])});`;
  },
};
