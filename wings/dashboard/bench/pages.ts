// The time until each page of the dashboard shows its first content, on a large store: 100,000 entries and 10,000
// reported runs unless told otherwise. Each page is opened in Chromium, first on a server that has just started,
// then again. Prints the times, and whether each is under a second. Asserts nothing.
//
//   node wings/dashboard/bench/pages.ts [--entries=COUNT] [--runs=COUNT] [--store=FOLDER]
//
// FOLDER is filled if it does not exist, and stays. Without it, a temporary folder is filled and removed.
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { arch, cpus, release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type Browser, chromium } from 'playwright-core';
import { startAssay } from '../../../bench/server/contestants.ts';
import { median, table } from '../../../bench/server/table.ts';
import { type Filled, fillStore } from './pages/fill.ts';

const CHROMIUM = '/usr/bin/chromium';
const ROUNDS = 5;
const MOST_MS = 1000;
const IS_PAINTED = "performance.getEntriesByName('first-contentful-paint').length > 0";

const { values } = parseArgs({
  options: {
    entries: { type: 'string', default: '100000' },
    runs: { type: 'string', default: '10000' },
    store: { type: 'string' },
  },
});

interface Seen {
  /** Until the whole HTML has arrived, and until the browser paints the first content. */
  readonly htmlMs: number;
  readonly paintMs: number;
  readonly bytes: number;
}

async function open(browser: Browser, url: string): Promise<Seen> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  try {
    const answer = await page.goto(url, { waitUntil: 'load' });
    if (answer?.status() !== 200) throw new Error(`${url} answered ${answer?.status()}`);
    /* Not by waitForFunction: the Content-Security-Policy of the pages forbids what it does. */
    while (!(await page.evaluate<boolean>(IS_PAINTED))) await pause(10);
    const [htmlMs, paintMs, bytes] = await page.evaluate<number[]>(
      "[performance.getEntriesByType('navigation')[0].responseEnd, performance.getEntriesByName('first-contentful-paint')[0].startTime, performance.getEntriesByType('navigation')[0].decodedBodySize]",
    );
    return { htmlMs: htmlMs ?? 0, paintMs: paintMs ?? 0, bytes: bytes ?? 0 };
  } finally {
    await page.close();
  }
}

function pathsOf({ run, key }: Filled): string[] {
  const found = ['/', '/runs', '/runs?step=no-such-step', `/runs/${run}`, `/action/${key}`];
  found.push('/runs/trends', '/runs/trends?step=package-0%23step-3');
  return [...found, '/misses', '/misses?days=90', '/hermeticity', '/storage', '/setup'];
}

/** Each page as the first one that a new server shows, then several times. */
async function measure(folder: string, browser: Browser, path: string): Promise<string[]> {
  const server = await startAssay(folder);
  try {
    const first = await open(browser, `${server.origin}${path}`);
    const later: Seen[] = [];
    for (let round = 0; round < ROUNDS; round++) later.push(await open(browser, `${server.origin}${path}`));
    const html = median(later.map(({ htmlMs }) => htmlMs));
    const paint = median(later.map(({ paintMs }) => paintMs));
    const slowest = Math.max(first.paintMs, ...later.map(({ paintMs }) => paintMs));
    const times = [first.htmlMs, first.paintMs, html, paint].map((ms) => `${ms.toFixed(0)} ms`);
    const size = `${(first.bytes / 1024).toFixed(0)} KiB`;
    return [path.slice(0, 30), ...times, size, slowest < MOST_MS ? 'reached' : 'MISSED'];
  } finally {
    await server.stop();
  }
}

const folder = values.store ?? mkdtempSync(join(tmpdir(), 'assay-bench-pages-'));
try {
  const isFilled = values.store !== undefined && existsSync(values.store);
  const counts = { entries: Number(values.entries), runs: Number(values.runs) };
  const filled = await fillStore(folder, isFilled ? { entries: 0, runs: 0 } : counts);
  console.log(`${cpus()[0]?.model}, ${cpus().length} cores, ${arch()}, Linux ${release()}`);
  console.log(`${filled.results} results, ${filled.blobs} blobs, ${filled.runs} runs; first content in ms`);
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
  try {
    const rows = [['page', 'HTML, new server', 'painted', 'HTML, later', 'painted', 'size', 'under 1 s']];
    for (const path of pathsOf(filled)) rows.push(await measure(folder, browser, path));
    console.log(table(rows));
  } finally {
    await browser.close();
  }
} finally {
  if (values.store === undefined) rmSync(folder, { recursive: true, force: true });
}
