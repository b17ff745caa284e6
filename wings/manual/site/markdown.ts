// How the site reads the repository's Markdown: links lead to pages of the site, and blocks of code stay as they are.
import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import type { Stage } from './config.ts';

/** The part of markdown-it that is used here. */
export interface MarkdownIt {
  readonly core: {
    readonly ruler: { push(name: string, rule: (state: State) => void): void };
  };
}

interface State {
  readonly tokens: Token[];
  readonly env: { readonly relativePath?: string };
}

interface Token {
  type: string;
  tag: string;
  info: string;
  markup: string;
  hidden: boolean;
  readonly children: Token[] | null;
  attrGet(name: string): string | null;
  attrSet(name: string, value: string): void;
}

const ELSEWHERE = /^[a-z][a-z0-9+.-]*:/i;

export function ownLinks(markdown: MarkdownIt, stage: Pick<Stage, 'root' | 'pages' | 'images'>): void {
  const sources = new Map(Object.entries(stage.pages).map(([source, page]) => [page, source]));
  markdown.core.ruler.push('own links', ({ tokens, env: { relativePath = '' } }) => {
    const source = sources.get(relativePath);
    for (const token of tokens) {
      /* VitePress shields fences from its templates, and no indented blocks. */
      if (token.type === 'code_block') Object.assign(token, { type: 'fence', info: 'text', markup: '```' });
      if (source !== undefined) lead(token.children ?? [], { source, page: relativePath, stage });
    }
  });
}

interface Place {
  readonly source: string;
  readonly page: string;
  readonly stage: Pick<Stage, 'root' | 'pages' | 'images'>;
}

function lead(tokens: readonly Token[], place: Place): void {
  const open: boolean[] = [];
  for (const token of tokens) {
    if (token.type === 'image') leadImage(token, place);
    if (token.type === 'link_open') {
      const target = targetOf(token.attrGet('href') ?? '', place);
      open.push(target !== undefined);
      if (target === undefined) hide(token);
      else token.attrSet('href', target);
    }
    if (token.type === 'link_close' && open.pop() === false) hide(token);
  }
}

function leadImage(token: Token, { source, page, stage }: Place): void {
  const path = posix.join(posix.dirname(source), token.attrGet('src') ?? '');
  const image = stage.images[path];
  if (image === undefined) throw new Error(`${source}: there is no image ${path}`);
  token.attrSet('src', relativeTo(page, image));
}

/** Undefined: the file is no page, but a source; its name is text. */
function targetOf(href: string, { source, page, stage }: Place): string | undefined {
  if (ELSEWHERE.test(href) || href.startsWith('#')) return href;
  const [path = '', anchor] = href.split('#');
  const file = posix.join(posix.dirname(source), decodeURI(path)).replace(/\/$/, '');
  const target = stage.pages[file] ?? stage.pages[posix.join(file, 'README.md')];
  if (target !== undefined) return relativeTo(page, target) + (anchor === undefined ? '' : `#${anchor}`);
  if (!existsSync(join(stage.root, file))) throw new Error(`${source}: there is no ${file}`);
  return undefined;
}

function relativeTo(page: string, target: string): string {
  const path = posix.relative(posix.dirname(page), target);
  return path.startsWith('.') ? path : `./${path}`;
}

function hide(token: Token): void {
  Object.assign(token, { type: 'text', tag: '', content: '' });
}

/** The anchors that links in the repository use: those of GitHub. */
export function githubSlugs(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}\- _]/gu, '')
    .replaceAll(' ', '-');
}
