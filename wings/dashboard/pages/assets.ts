// The files that pages load: style, script, icon and charts. They come out of the package, never from another
// server. Guarantee: an address names the content, so a browser keeps it for good.
//
// In a checkout, they are files of the sources and of node_modules. In the bundle, they are in its folder
// `assets` (scripts/build.ts).
import { hash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { fileURLToPath } from 'node:url';

/** "~" is in no namespace. */
export const ASSETS_PATH = '/~assets/';

interface Asset {
  readonly type: string;
  readonly body: Buffer;
}

/** The names that pages use, and the files of a checkout. The name of the script is its first module. */
export const ASSET_FILES = {
  'style.css': '../browser/style.css',
  'icon.svg': '../browser/icon.svg',
  'uplot.css': '../../../node_modules/uplot/dist/uPlot.min.css',
  'uplot.js': '../../../node_modules/uplot/dist/uPlot.iife.min.js',
} as const;

/** The modules of the script. The bundle has all of them in the first. */
const SCRIPT_MODULES = ['main', 'charts', 'copy', 'lights', 'tail', 'visible'] as const;

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  ts: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

let loaded: ReadonlyMap<string, Asset> | undefined;

/** By name. All are read at the first call. */
export function loadAssets(): ReadonlyMap<string, Asset> {
  loaded ??= new Map(bundled() ?? fromSources());
  return loaded;
}

export function findAsset(name: string): Asset | undefined {
  return loadAssets().get(name);
}

export function assetUrl(name: keyof typeof ASSET_FILES | 'script'): string {
  const file = name === 'script' ? ['main.js', 'main.ts'].find((one) => loadAssets().has(one)) : name;
  const version = hash('sha256', findAsset(file ?? '')?.body ?? '').slice(0, 12);
  return `${ASSETS_PATH}${file}?v=${version}`;
}

function bundled(): [string, Asset][] | undefined {
  const names = [...Object.keys(ASSET_FILES), 'main.js'];
  if (!existsSync(pathOf('./assets/main.js'))) return undefined;
  return names.map((name) => [name, asset(name, readFileSync(pathOf(`./assets/${name}`)))]);
}

function fromSources(): [string, Asset][] {
  const files = Object.entries(ASSET_FILES).map(([name, path]): [string, Asset] => [
    name,
    asset(name, readFileSync(pathOf(path))),
  ]);
  const modules = SCRIPT_MODULES.map((module): [string, Asset] => {
    const source = readFileSync(pathOf(`../browser/${module}.ts`), 'utf8');
    return [`${module}.ts`, asset(`${module}.ts`, Buffer.from(stripTypeScriptTypes(source)))];
  });
  return [...files, ...modules];
}

function asset(name: string, body: Buffer): Asset {
  return { type: TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream', body };
}

function pathOf(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url));
}
