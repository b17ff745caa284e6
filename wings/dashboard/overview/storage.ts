// Storage and trust: what fills the store, who writes where, who was refused, which tokens end soon.
import { isInRange, type Namespace, type NamespaceRange, parseNamespace } from '../../../core/namespace.ts';
import { type Identity, seesWholeServer } from '../../../server/access/identity.ts';
import type { ServerContext } from '../../../server/context.ts';
import { contentOf } from '../../../server/history/documents.ts';
import type { AccountUse } from '../../../store/accounts.ts';
import type { History } from '../../../store/history.ts';
import { activityOf } from '../activity/of-server.ts';
import type {
  AccountRow,
  DeniedWrite,
  NamespaceRow,
  NodeRow,
  Storage,
  TokenRow,
  UsageRow,
} from '../api/schemas/storage.ts';
import { DASHBOARD } from '../limits.ts';
import { withoutNumber } from '../pull-requests.ts';
import type { NamespaceUsage, Surveyed } from './survey.ts';

const LISTED = 100;
const LISTED_WRITERS = 10;

export async function storageAnswer(
  server: ServerContext,
  history: History,
  identity: Identity,
  counted: NamespaceRange,
  surveyed: Surveyed | undefined,
): Promise<Storage> {
  const namespaces = (surveyed?.namespaces ?? []).filter(([name]) => isInRange(name, counted));
  const { space } = server.info;
  return {
    ...(seesWholeServer(identity) && space && { store: spaceOf(space, server) }),
    accounts: accountsOf(server, identity, counted),
    ...(surveyed && { countedAt: new Date(surveyed.at).toISOString() }),
    teams: largest(sumsOf(namespaces.map(([name, usage]) => [teamOf(name), usage]))),
    tools: largest(sumsOf(namespaces.flatMap(([, { tools }]) => [...tools]))),
    namespaces: [...Map.groupBy(namespaces, ([name]) => withoutNumber(name))]
      .map(([name, group]) => rowOf(name, group))
      .sort((a, b) => b.results - a.results)
      .slice(0, LISTED),
    deniedWrites: await deniedWrites(history, counted),
    tokens: tokensOf(server, identity, counted),
    nodes: seesWholeServer(identity) ? await nodesOf(server, history) : [],
  };
}

function spaceOf(
  space: { used(): number; readonly limit: number },
  { metrics }: ServerContext,
): NonNullable<Storage['store']> {
  return {
    usedBytes: space.used(),
    ...(Number.isFinite(space.limit) && { limitBytes: space.limit }),
    evictedBytes: metrics.evictedBytes,
    ...(metrics.evictedUnusedMs !== undefined && { evictedUnusedMs: Math.round(metrics.evictedUnusedMs) }),
  };
}

/** Pull requests of several tenants are one account: only who sees all of them sees it. */
function accountsOf({ info }: ServerContext, identity: Identity, counted: NamespaceRange): AccountRow[] {
  const isSeen = (account: AccountUse) =>
    seesWholeServer(identity) || account.namespaces.every((name) => isInRange(parseNamespace(name), counted));
  return info.accounts.filter(isSeen).map(({ name, bytes, quota, floor, hasQuota, hasFloor }) => ({
    name,
    bytes,
    ...(hasQuota && { quotaBytes: Math.floor(quota) }),
    ...(hasFloor && { floorBytes: Math.floor(floor) }),
  }));
}

/** The first part of a namespace. */
function teamOf(namespace: Namespace): string {
  return namespace.split('/', 1)[0] || '(none)';
}

function sumsOf(parts: readonly (readonly [string, { readonly results: number; readonly bytes: number }])[]) {
  const sums = new Map<string, { results: number; bytes: number }>();
  for (const [name, { results, bytes }] of parts) {
    const known = sums.get(name) ?? { results: 0, bytes: 0 };
    sums.set(name, { results: known.results + results, bytes: known.bytes + bytes });
  }
  return sums;
}

function largest(
  sums: ReadonlyMap<string, { readonly results: number; readonly bytes: number }>,
): UsageRow[] {
  return [...sums]
    .map(([name, { results, bytes }]) => ({ name, results, bytes }))
    .sort((a, b) => b.bytes - a.bytes)
    .slice(0, LISTED);
}

/** One namespace, or those of the pull requests of one place. */
function rowOf(name: string, group: readonly (readonly [Namespace, NamespaceUsage])[]): NamespaceRow {
  const isOne = group.some(([namespace]) => namespace === name);
  const writers = group.flatMap(([, usage]) => usage.writers).toSorted(([, a], [, b]) => b - a);
  const lastWriteAt = Math.max(...group.map(([, usage]) => usage.lastWriteAt ?? 0));
  return {
    namespace: name,
    ...(!isOne && { grouped: group.length }),
    results: group.reduce((sum, [, { results }]) => sum + results, 0),
    writers: [...new Set(writers.map(([writer]) => writer))].slice(0, LISTED_WRITERS),
    ...(lastWriteAt > 0 && { lastWriteAt: new Date(lastWriteAt).toISOString() }),
  };
}

async function deniedWrites(history: History, namespaces: NamespaceRange): Promise<DeniedWrite[]> {
  const { documents } = await history.page({ kind: 'denied', namespaces, limit: LISTED });
  return documents.flatMap((document) => contentOf<DeniedWrite>(document) ?? []);
}

/** Only an admin, and a reader of the whole server, sees the tokens of others. */
export function tokensOf(
  { access }: ServerContext,
  identity: Identity,
  counted: NamespaceRange,
  now = Date.now(),
): TokenRow[] {
  const seesOthers = identity.rights.has('admin') || seesWholeServer(identity);
  return access
    .listed()
    .filter(({ name, namespace }) => isInRange(namespace, counted) && (seesOthers || name === identity.name))
    .map(({ name, namespace, rights, expiresAt }) => ({
      name,
      namespace,
      rights: [...rights],
      ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt).toISOString() }),
      expiresSoon: expiresAt !== undefined && expiresAt - now < DASHBOARD.expiresSoonMs,
    }))
    .sort((a, b) => ((a.expiresAt ?? '9') < (b.expiresAt ?? '9') ? -1 : 1))
    .slice(0, DASHBOARD.listedSteps);
}

/** Those that said so in the last minutes. Empty if this is the only one. */
async function nodesOf(server: ServerContext, history: History): Promise<NodeRow[]> {
  const from = Date.now() - 3 * DASHBOARD.announceMs;
  const { documents } = await history.page({ kind: 'node', from, limit: LISTED });
  const nodes = documents.flatMap((document) => {
    const value = contentOf<{ readonly name: string }>(document);
    const isThisOne = document.id === activityOf(server).process;
    return value ? { name: value.name, lastSeenAt: new Date(document.at).toISOString(), isThisOne } : [];
  });
  return nodes.length > 1 ? nodes : [];
}
