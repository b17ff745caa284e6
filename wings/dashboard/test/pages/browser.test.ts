// Every page in Debian's Chromium, from answers with hostile names: it fits the window, is accessible, breaks no
// rule of its Content-Security-Policy, and shows the names without running them.
import axe from 'axe-core';
import { expect, test } from 'vitest';
import { escapeHtml } from '../../../../core/html/html.ts';
import { soak } from '../../../../test/rig/soak.ts';
import { browserForAll, type Look, NARROW, type Visit, WIDE } from './chromium.ts';
import { FIXTURE_PAGES } from './fixture-pages.ts';
import { fixtureServer } from './fixture-server.ts';
import { NASTY, SETUP } from './fixtures.ts';

const browser = browserForAll();
const server = fixtureServer();

const LOOKS: readonly Look[] = [
  { viewport: WIDE, colorScheme: 'light' },
  { viewport: NARROW, colorScheme: 'dark' },
  { viewport: WIDE, colorScheme: 'dark' },
  { viewport: NARROW, colorScheme: 'light' },
];

/** The ordinary run gives each page one of the looks, in turns. The soak gives it all four. */
const LOOKS_OF_A_PAGE = soak(LOOKS.length, 1);

/** As core/html shows it. */
const SHOWN = NASTY.replace('\u202e', '\\u{202e}')
  .replace('\u0007', '\\u{7}')
  .replace('\u0000', '\\u{0}')
  .replace('\ud800', '\\u{d800}');

const SHOWN_IN_MARKUP = escapeHtml(NASTY);

const NAMES = Object.keys(FIXTURE_PAGES);

test.each(LOOKS.map((look, index) => ({ ...look, index })))(
  'pages are whole, accessible and safe, $viewport.width pixels wide, $colorScheme',
  async ({ index, ...look }) => {
    const { page, complaints } = await browser.visit(look);
    const names = NAMES.filter((_, at) => (at + index) % LOOKS.length < LOOKS_OF_A_PAGE);
    for (const name of names) {
      await page.goto(`${server.url}/${name}`);
      expect({ name, complaints }).toEqual({ name, complaints: [] });
      expect({ name, hidden: await hiddenWidth(page) }).toEqual({ name, hidden: 0 });
      expect({ name, violations: await violations(page) }).toEqual({ name, violations: [] });
      expect({ name, made: await page.locator('img, main script').count() }).toEqual({ name, made: 0 });
      expect({ name, content: await page.content() }).toEqual({
        name,
        content: expect.not.stringContaining('\u202e'),
      });
    }
  },
);

/** The other pages have no text of clients. */
const WITH_NAMES = NAMES.filter((name) => !/-new|login|setup|without/.test(name));

async function hiddenWidth(page: Visit['page']): Promise<unknown> {
  return page.evaluate('document.documentElement.scrollWidth - innerWidth');
}

async function violations(page: Visit['page']): Promise<unknown> {
  await page.evaluate(axe.source);
  return page.evaluate(
    'axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes[0].html, nodes[0].failureSummary]))',
  );
}

test('what happens now is added to the page, with hostile names as text', async () => {
  const { page, complaints } = await browser.visit();
  const event = {
    at: new Date().toISOString(),
    tool: NASTY,
    what: 'hit',
    namespace: NASTY,
    identity: NASTY,
    key: NASTY,
  };
  server.answers.set('/api/v1/tail', { events: [event], position: '43' });
  await page.goto(`${server.url}/now`);
  await page.locator('[data-tail] tbody tr').nth(4).waitFor();
  expect(await page.locator('[data-tail] tbody tr').first().innerText()).toContain(SHOWN);
  await page.getByRole('button', { name: 'Pause' }).click();
  expect(await page.getByRole('button', { name: 'Go on' }).getAttribute('aria-pressed')).toBe('true');
  expect(complaints).toEqual([]);
});

test('a light turns green at the first request, and a button copies the setting', async () => {
  const { page, complaints } = await browser.visit(
    {},
    { permissions: ['clipboard-read', 'clipboard-write'] },
  );
  await page.goto(`${server.url}/setup`);
  const light = page.locator('[data-tool="Gradle"]');
  expect(await light.innerText()).toBe('Waiting for the first request');
  const tools = SETUP.tools.map((tool) =>
    tool.name === 'Gradle' ? { ...tool, lookupsToday: 1, lastRequestAt: new Date().toISOString() } : tool,
  );
  server.answers.set('/api/v1/setup', { ...SETUP, tools });
  await page.locator('[data-tool="Gradle"].on').waitFor();
  expect(await light.innerText()).toContain('Connected: 1 lookup today');
  await page.getByRole('button', { name: 'Copy the setting for ccache' }).click();
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(
    "export CCACHE_REMOTE_STORAGE='http://cache.example:8980/ccache/web|bearer-token=TOKEN'",
  );
  expect(complaints).toEqual([]);
});

test.each(WITH_NAMES)('%s shows hostile names as they are', (name) => {
  const text = FIXTURE_PAGES[name] ?? '';
  expect(text).toContain(SHOWN_IN_MARKUP);
  for (const raw of ['<img', 'alert(2)</script>', '\u202e', '\u0007', '\u0000'])
    expect(text).not.toContain(raw);
});

test('without a script, each page shows its content and offers nothing that needs one', async () => {
  const { page } = await browser.visit({}, { javaScriptEnabled: false });
  for (const name of NAMES.slice(0, soak(NAMES.length, 3))) {
    await page.goto(`${server.url}/${name}`);
    expect(await page.locator('h1').count(), name).toBe(1);
    expect(
      await page.locator('button[data-copy]:visible, button[data-pause]:visible, .chart:visible').count(),
      name,
    ).toBe(0);
  }
});

test('a person reaches the content and all links by the keyboard', async () => {
  const { page } = await browser.visit();
  await page.goto(`${server.url}/runs`);
  await page.keyboard.press('Tab');
  expect(await page.locator(':focus').innerText()).toBe('Skip to the content');
  await page.keyboard.press('Enter');
  expect(await page.evaluate('document.activeElement.id')).toBe('content');
});
