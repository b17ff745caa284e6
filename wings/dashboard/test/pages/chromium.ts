// Debian's Chromium, driven by playwright-core. What a page complains about fails the test that uses it.
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';

export const WIDE = { width: 1280, height: 900 };
export const NARROW = { width: 390, height: 844 };

export interface Look {
  readonly viewport: { readonly width: number; readonly height: number };
  readonly colorScheme: 'light' | 'dark';
}

export interface Visit {
  readonly page: Page;
  /** Errors of scripts, of the console and of the Content-Security-Policy, and dialogs that opened. */
  readonly complaints: string[];
}

/** One browser for all tests of a file. */
export function browserForAll(): { visit(look?: Partial<Look>, more?: object): Promise<Visit> } {
  let browser: Browser | undefined;
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
  });
  afterAll(() => browser?.close());
  return {
    async visit({ viewport = WIDE, colorScheme = 'light' } = {}, more = {}) {
      if (!browser) throw new Error('the browser has not started');
      const context = await browser.newContext({ viewport, colorScheme, ...more });
      const page = await context.newPage();
      const complaints: string[] = [];
      page.on('console', (message) => {
        if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
      });
      page.on('pageerror', (error) => complaints.push(String(error)));
      page.on('dialog', (dialog) => {
        complaints.push(`a dialog: ${dialog.message()}`);
        dialog.dismiss().catch(() => {});
      });
      return { page, complaints };
    },
  };
}
