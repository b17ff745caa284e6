// A server of the fixture pages, with the headers and the files of the real one. Its API answers by fixtures.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll } from 'vitest';
import { ASSETS_PATH, findAsset } from '../../pages/assets.ts';
import { PAGE_HEADERS } from '../../pages/plugin.ts';
import { FIXTURE_PAGES } from './fixture-pages.ts';
import { SETUP } from './fixtures.ts';

export interface FixtureServer {
  readonly url: string;
  /** The answers of the API, by path. */
  readonly answers: Map<string, object>;
}

/** One for all tests of a file. */
export function fixtureServer(): FixtureServer {
  const answers = new Map<string, object>([
    ['/api/v1/setup', SETUP],
    ['/api/v1/tail', { events: [], position: '42' }],
  ]);
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://localhost');
    const asset = pathname.startsWith(ASSETS_PATH)
      ? findAsset(pathname.slice(ASSETS_PATH.length))
      : undefined;
    const page = FIXTURE_PAGES[pathname.slice(1)];
    const answer = answers.get(pathname);
    if (asset) response.writeHead(200, { ...PAGE_HEADERS, 'content-type': asset.type }).end(asset.body);
    else if (answer)
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    else if (page !== undefined)
      response.writeHead(200, { ...PAGE_HEADERS, 'content-type': 'text/html; charset=utf-8' }).end(page);
    else response.writeHead(404).end();
  });
  beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve())));
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    answers,
    get url() {
      const { port } = server.address() as AddressInfo;
      return `http://127.0.0.1:${port}`;
    },
  };
}
