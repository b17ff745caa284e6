// Each page of docs/start is typed as it stands: its blocks `sh` run one after the other in one shell, and what a block
// prints is what the block `text` after it shows. A block `console` needs a registry; the test puts the packages there.
import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { FORMS } from '../rig/assay.ts';
import { ServerProcess } from '../rig/server.ts';

const ROOT = join(import.meta.dirname, '../..');
const PAGES = join(ROOT, 'docs/start');

/** Installed by scripts/setup-test-tools.sh. */
const TYPESCRIPT = join(import.meta.dirname, 'tools/node_modules/typescript');

const MARK = '--- block ---';
const PAGE_ADDRESS = 'http://127.0.0.1:8980';

interface Block {
  readonly language: string;
  readonly text: string;
}

let folder = '';
let server: ServerProcess;

beforeAll(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'assay-start-')));
  mkdirSync(join(folder, 'bin'));
  symlinkSync(FORMS.executable[0], join(folder, 'bin/assay'));
  symlinkSync(process.execPath, join(folder, 'bin/node'));
  server = await ServerProcess.start(join(folder, 'server'));
});

afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const NAMES = readdirSync(PAGES).filter((file) => file !== 'README.md');

test.each(NAMES)('%s', (name) => {
  const blocks = blocksOf(readFileSync(join(PAGES, name), 'utf8'));
  const place = join(folder, name);
  mkdirSync(place);
  const printed = typeAll(blocks, place);
  for (const [at, { language, text }] of blocks.entries())
    if (language === 'text') expect(printed[at - 1], `${name}, block ${at}`).toMatch(patternOf(text));
});

/** What each block printed. */
function typeAll(blocks: readonly Block[], place: string): string[] {
  const lines = blocks.map(({ language, text }) => {
    if (language === 'sh') return text.replaceAll(PAGE_ADDRESS, server.url);
    return language === 'console' ? installed() : '';
  });
  const script = join(place, 'page.sh');
  writeFileSync(script, ['set -e', ...lines.flatMap((line) => [line, `echo '${MARK}'`]), ''].join('\n'));
  const output = execFileSync('sh', ['-c', 'exec sh page.sh 2>&1'], {
    cwd: place,
    encoding: 'utf8',
    env: {
      PATH: `${join(folder, 'bin')}:/usr/local/bin:/usr/bin:/bin`,
      HOME: place,
      ASSAY_STORE: join(place, 'store'),
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_AUTHOR_NAME: 'a',
      GIT_AUTHOR_EMAIL: 'a@example.org',
      GIT_COMMITTER_NAME: 'a',
      GIT_COMMITTER_EMAIL: 'a@example.org',
      LC_ALL: 'C.UTF-8',
    },
  });
  return output.split(`${MARK}\n`);
}

/** What npm would put there. */
function installed(): string {
  return [
    'mkdir -p node_modules/.bin',
    `cp -r ${TYPESCRIPT} node_modules/typescript`,
    'ln -s ../typescript/bin/tsc node_modules/.bin/tsc',
    'ln -s ../packages/money node_modules/money',
    'ln -s ../packages/cart node_modules/cart',
  ].join('\n');
}

function blocksOf(page: string): Block[] {
  const found = page.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm);
  return [...found].map(([, language = '', text = '']) => ({ language, text }));
}

/** "…" stands for anything: alone in a line for lines, else for a part of a line. */
function patternOf(text: string): RegExp {
  const lines = text.trimEnd().split('\n');
  const parts = lines.map((line) => {
    if (line === '…') return '(?:.*\\n)*?';
    return `${line.split('…').map(RegExp.escape).join('.*')}\\n`;
  });
  return new RegExp(`^${parts.join('')}$`);
}
