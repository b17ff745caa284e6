// Set up: for each tool what to write, and whether the server has seen it.
import type { NamespaceRange } from '../../../core/namespace.ts';
import type { ServerContext } from '../../../server/context.ts';
import type { History } from '../../../store/history.ts';
import { Counters } from '../activity/counters.ts';
import { HOUR } from '../activity/figures.ts';
import { activityOf } from '../activity/of-server.ts';
import type { Setup, ToolSetup } from '../api/types.ts';
import { type Address, TOOLS } from '../setup/tools.ts';
import { DAY } from './figures.ts';

interface SeenAs {
  /** The names that the tool may have (activity/caller.ts). */
  readonly tools: readonly string[];
  readonly protocols?: readonly string[];
  /** It sends what this other tool sends. */
  readonly countsAs?: string;
}

/** How each tool of the page is counted. */
const SEEN_AS: Readonly<Record<string, SeenAs>> = {
  'assay run': { tools: ['assay'] },
  'Bazel, gRPC': { tools: ['bazel'], protocols: ['grpc'] },
  'Bazel, HTTP': { tools: ['bazel', 'http'], protocols: ['http'] },
  'Bazel, persistent worker': { tools: [], countsAs: 'assay run' },
  moon: { tools: ['moon'] },
  recc: { tools: ['recc'] },
  BuildStream: { tools: ['buildstream', 'buildbox', 'asset'] },
  ccache: { tools: ['ccache'] },
  'sccache, S3': { tools: ['s3', 'sccache'], protocols: ['s3'] },
  'sccache, WebDAV': { tools: ['webdav', 'sccache'], protocols: ['webdav'] },
  Gradle: { tools: ['gradle'] },
  Go: { tools: ['gocacheprog'] },
  Turborepo: { tools: ['turbo'] },
  Nx: { tools: ['nx'] },
  Rush: { tools: ['rush'] },
  'lage, backfill': { tools: ['azure', 'lage'] },
  'GitHub Actions cache': { tools: ['actions'] },
  BuildKit: { tools: ['buildkit'] },
  wireit: { tools: [], countsAs: 'GitHub Actions cache' },
};

/** A tool that was seen in this time is connected. */
const SEEN_DAYS = 7;

export async function setupAnswer(
  server: ServerContext,
  history: History,
  counted: NamespaceRange,
  address: Address,
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
    tools: TOOLS.map(({ name, snippet }): ToolSetup => {
      const seenAs = SEEN_AS[name] ?? { tools: [] };
      const times = seenBy(week, seenAs).map(({ at }) => at);
      const { countsAs } = seenAs;
      return {
        name,
        snippet: snippet(address),
        ...(times.length > 0 && { lastRequestAt: new Date(Math.max(...times)).toISOString() }),
        ...(countsAs !== undefined && { countsAs }),
        lookupsToday: seenBy(today, seenAs).reduce((sum, { lookups }) => sum + lookups, 0),
      };
    }),
  };
}

/** The requests of the tools of a row, over the protocols of the row. */
function seenBy({ seen }: Counters, { tools, protocols }: SeenAs) {
  return [...seen].flatMap(([name, found]) => {
    const [tool = '', protocol = ''] = name.split('/');
    return tools.includes(tool) && (protocols?.includes(protocol) ?? true) ? found : [];
  });
}
