// The settings of VitePress for the documentation site. `site/build.ts` stages the pages, and starts VitePress with
// this file. Nothing on a page is loaded from another server.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { env } from 'node:process';
import { githubSlugs, type MarkdownIt, ownLinks } from './markdown.ts';

/** What `site/build.ts` writes for this file: the staged pages, and where they came from. */
export interface Stage {
  /** The repository. */
  readonly root: string;
  readonly out: string;
  /** The staged page by the path of its source in the repository. */
  readonly pages: Readonly<Record<string, string>>;
  readonly images: Readonly<Record<string, string>>;
  readonly sidebar: readonly {
    readonly text: string;
    readonly collapsed: boolean;
    readonly items: readonly { readonly text: string; readonly link: string }[];
  }[];
}

const folder = env.ASSAY_DOCS_STAGE;
if (!folder) throw new Error('start the generator by `npm run docs`');
const stage: Stage = JSON.parse(readFileSync(join(folder, 'stage.json'), 'utf8'));

export default {
  title: 'Assay',
  description: 'A content-addressed build and action cache that proves its hits.',
  base: '/docs/',
  srcDir: join(folder, 'pages'),
  outDir: stage.out,
  cacheDir: join(folder, 'cache'),
  lang: 'en',
  /* Browsers ask for /favicon.ico otherwise. */
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  /* What all pages share is one file. */
  metaChunk: true,
  /* The index of the search is larger than what Vite takes for usual. */
  vite: { build: { chunkSizeWarningLimit: 4096 } },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    sidebar: stage.sidebar,
  },
  markdown: {
    anchor: { slugify: githubSlugs },
    config: (markdown: MarkdownIt) => ownLinks(markdown, stage),
  },
};
