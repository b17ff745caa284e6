// Set up: for each tool what to write, and whether the server has seen it.
import type { NamespaceRange } from '../../../core/namespace.ts';
import type { ServerContext } from '../../../server/context.ts';
import { type KnownTool, type ServerAddress, TOOLS } from '../../../server/request/tools.ts';
import type { History } from '../../../store/history.ts';
import { Counters } from '../activity/counters.ts';
import { HOUR } from '../activity/figures.ts';
import { activityOf } from '../activity/of-server.ts';
import type { Setup, ToolSetup } from '../api/schemas/setup.ts';
import { DAY } from './figures.ts';

/** A tool that was seen in this time is connected. */
const SEEN_DAYS = 7;

export async function setupAnswer(
  server: ServerContext,
  history: History,
  counted: NamespaceRange,
  address: ServerAddress,
): Promise<Setup> {
  const now = Date.now();
  const midnight = Math.floor(now / DAY) * DAY;
  const from = midnight - SEEN_DAYS * DAY;
  const hours = await activityOf(server).figures.read(history, counted, { from, to: now, stepMs: HOUR });
  const week = new Counters();
  for (const counters of hours) week.add(counters);
  const today = new Counters();
  for (const counters of hours.slice((midnight - from) / HOUR)) today.add(counters);
  return {
    address: `${address.isTls ? 'https' : 'http'}://${address.host}`,
    needsToken: address.needsToken,
    tools: TOOLS.flatMap((tool) => {
      const { name, setup, countsAs } = tool;
      if (!setup) return [];
      const times = seenBy(week, tool).map(({ at }) => at);
      const shown: ToolSetup = {
        name,
        snippet: setup.snippet(address),
        ...(times.length > 0 && { lastRequestAt: new Date(Math.max(...times)).toISOString() }),
        ...(countsAs !== undefined && { countsAs }),
        lookupsToday: seenBy(today, tool).reduce((sum, { lookups }) => sum + lookups, 0),
      };
      return [shown];
    }),
  };
}

/** The requests that count for a tool. */
function seenBy({ seen }: Counters, { sends = [], protocols = [], onlyOver }: KnownTool) {
  const names = [...sends, ...protocols];
  return [...seen].flatMap(([name, found]) => {
    const [tool = '', protocol = ''] = name.split('/');
    return names.includes(tool) && (onlyOver?.includes(protocol) ?? true) ? found : [];
  });
}
