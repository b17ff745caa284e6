// `npm run docs`: builds the documentation as static pages with search, into dist/docs.
//
// Guarantees:
// - Every link leads to a page, an anchor or a file that exists, or the build fails.
// - No page loads anything from another server.
// - dist/docs is replaced as a whole, or stays.
import { execFileSync, spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import {
  copyFileSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { LIST } from '../files.ts';
import { checkSite } from './check.ts';
import { commandPages } from './commands.ts';
import type { Stage } from './config.ts';
import { groupsOf } from './pages.ts';

const SITE = import.meta.dirname;
const ROOT = join(SITE, '../../..');
/** A longer list of the sidebar is closed until a reader opens it. */
const LONG = 12;

const OUT = join(ROOT, 'dist/docs');

/** Where the generator runs, with its packages. They stay out of the sources. */
const GENERATOR = join(ROOT, 'dist/manual-generator');

function build(): void {
  install();
  const folder = mkdtempSync(join(GENERATOR, 'stage-'));
  try {
    const made = join(folder, 'site');
    writeStage(folder, made);
    run(process.execPath, ['node_modules/vitepress/bin/vitepress.js', 'build'], { ASSAY_DOCS_STAGE: folder });
    const files = globSync('**', { cwd: made }).filter((file) => /\.\w+$/.test(file));
    checkSite(made, files);
    const list = files.sort().map((path) => ({ path, scripts: inlineScripts(join(made, path)) }));
    writeFileSync(join(made, LIST), `${JSON.stringify(list)}\n`);
    replace(made);
    console.log(`dist/docs: ${files.filter((file) => file.endsWith('.html')).length} pages`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The generator with its packages, at the versions of its lock file. */
function install(): void {
  const stamp = join(GENERATOR, 'installed-lock.json');
  const lock = readFileSync(join(SITE, 'generator/package-lock.json'), 'utf8');
  const isInstalled = existsSync(stamp) && readFileSync(stamp, 'utf8') === lock;
  cpSync(join(SITE, 'generator'), GENERATOR, { recursive: true });
  for (const file of ['config.ts', 'markdown.ts'])
    cpSync(join(SITE, file), join(GENERATOR, '.vitepress', file));
  if (isInstalled) return;
  console.log('installing the generator of the pages');
  run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {});
  writeFileSync(stamp, lock);
}

/** The pages as the generator reads them, and the map of links for its settings. */
function writeStage(folder: string, out: string): void {
  const groups = groupsOf(ROOT, commandPages(help));
  const pages = groups.flatMap((group) => group.pages);
  const images = globSync('docs/images/*', { cwd: ROOT }).map((file) => [file, file.replace(/^docs\//, '')]);
  for (const { path, text } of pages) write(join(folder, 'pages', path), text);
  for (const [file = '', path = ''] of images) {
    mkdirSync(dirname(join(folder, 'pages', path)), { recursive: true });
    copyFileSync(join(ROOT, file), join(folder, 'pages', path));
  }
  const stage: Stage = {
    root: ROOT,
    out,
    pages: Object.fromEntries(pages.flatMap(({ source, path }) => (source ? [[source, path]] : []))),
    images: Object.fromEntries(images),
    /* The many decisions are found through their index. */
    sidebar: groups
      .filter(({ isListed }) => isListed)
      .map(({ text, pages: items }) => ({
        text,
        collapsed: items.length > LONG,
        items: items.map(({ title, path }) => ({
          text: title,
          link: `/${path.replace(/(^|\/)index\.md$|\.md$/, '$1')}`,
        })),
      })),
  };
  write(join(folder, 'stage.json'), JSON.stringify(stage));
}

/** Of the built executable. */
function help(...args: readonly string[]): string {
  return execFileSync(join(ROOT, 'dist/assay'), [...args, '--help'], { encoding: 'utf8', env: {} });
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** The digests of a page's inline scripts, as a Content-Security-Policy names them. */
function inlineScripts(file: string): string[] {
  if (!file.endsWith('.html')) return [];
  const scripts = readFileSync(file, 'utf8').matchAll(/<script(?![^>]*\ssrc=)[^>]*>([\s\S]*?)<\/script>/g);
  return [...scripts].map(([, text = '']) => `sha256-${hash('sha256', text, 'base64')}`);
}

function run(program: string, args: readonly string[], env: Readonly<Record<string, string>>): void {
  const { status } = spawnSync(program, args, {
    cwd: GENERATOR,
    env: { ...process.env, ...env },
    stdio: 'inherit',
  });
  if (status !== 0) throw new Error(`${program} ${args[0]} failed`);
}

/** The new pages lie beside the old ones first: a copy that fails costs no page. */
function replace(made: string): void {
  const old = join(GENERATOR, 'old');
  rmSync(old, { recursive: true, force: true });
  if (existsSync(OUT)) renameSync(OUT, old);
  renameSync(made, OUT);
  rmSync(old, { recursive: true, force: true });
}

build();
