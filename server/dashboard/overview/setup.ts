// Set up: for each tool what to write, and whether the server has seen it.
import type { NamespaceRange } from '../../../core/namespace.ts';
import type { History } from '../../../store/history.ts';
import { HOUR } from '../../activity/figures.ts';
import type { ServerContext } from '../../context.ts';
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
  BuildStream: { tools: ['buildstream', 'buildbox'] },
  ccache: { tools: ['ccache'] },
  'sccache, S3': { tools: ['s3', 'sccache'], protocols: ['s3'] },
  'sccache, WebDAV': { tools: ['webdav', 'sccache'], protocols: ['webdav'] },
  Gradle: { tools: ['gradle'] },
  Go: { tools: [], countsAs: 'assay run' },
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
  const hours = await server.activity.figures.read(history, counted, { from, to: now, stepMs: HOUR });
  const lookups = new Map<string, number>();
  for (const { tools } of hours.slice((midnight - from) / HOUR))
    for (const [tool, [hits, misses]] of tools) lookups.set(tool, (lookups.get(tool) ?? 0) + hits + misses);
  const seen = new Map(hours.flatMap((counters) => [...counters.seen]));
  return {
    address: `${address.isTls ? 'https' : 'http'}://${address.host}`,
    needsToken: address.needsToken,
    tools: TOOLS.map(({ name, snippet }): ToolSetup => {
      const { tools = [], protocols, countsAs } = SEEN_AS[name] ?? {};
      const last = lastSeen(seen, tools, protocols);
      return {
        name,
        snippet: snippet(address),
        ...(last !== undefined && { lastRequestAt: new Date(last).toISOString() }),
        ...(countsAs !== undefined && { countsAs }),
        lookupsToday: tools.reduce((sum, tool) => sum + (lookups.get(tool) ?? 0), 0),
      };
    }),
  };
}

/** `seen`: by tool and protocol. */
function lastSeen(
  seen: ReadonlyMap<string, number>,
  tools: readonly string[],
  protocols: readonly string[] | undefined,
): number | undefined {
  const times = [...seen].flatMap(([name, at]) => {
    const [tool = '', protocol = ''] = name.split('/');
    return tools.includes(tool) && (protocols?.includes(protocol) ?? true) ? at : [];
  });
  return times.length === 0 ? undefined : Math.max(...times);
}
