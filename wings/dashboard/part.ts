// What the dashboard adds to a server: pages, /api/v1, and an observer of requests.
import type { Logger } from 'pino';
import type { ServerPart } from '../../server/server-port.ts';
import { observe } from './activity/of-server.ts';
import { dashboardApi } from './api/api.ts';
import { DASHBOARD } from './limits.ts';
import { loadAssets } from './pages/assets.ts';
import { dashboardPages, HTML_ERRORS } from './pages/plugin.ts';
import { PAGES } from './pages/routes.ts';

/** `flushMs`: how often counters are written, and idle groups of requests become runs. */
export function dashboard(flushMs: number = DASHBOARD.flushMs): ServerPart {
  return {
    async routes(app) {
      app.register(dashboardPages(PAGES));
      app.register(dashboardApi);
    },
    observe(server) {
      loadFiles(server.log);
      return observe(server, flushMs);
    },
    htmlErrors: HTML_ERRORS,
    takesReports: true,
  };
}

/** Not at the first use: an upgrade of the package removes its files while the server runs. */
function loadFiles(log: Logger): void {
  try {
    loadAssets();
  } catch (error) {
    log.warn({ err: error }, 'a file of the pages is missing; only the cache works');
  }
}
