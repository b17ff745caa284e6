// The answers of /api/v1, as functions of a request. The pages call the same functions.
// Guarantee: each answer holds what the request's identity may read.
import { type Digest, type Hash, isHash } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import type { RunReport } from '../../../core/metadata/run-report-schema.ts';
import type { TokenInfo } from '../../../core/metadata/token-info.ts';
import {
  isInRange,
  type Namespace,
  type NamespaceRange,
  narrowedTo,
  parseNamespace,
  parseRequestedNamespace,
} from '../../../core/namespace.ts';
import { seesWholeServer } from '../../../server/access/identity.ts';
import type { ServerContext } from '../../../server/context.ts';
import type { Exchange } from '../../../server/http/exchange.ts';
import { HISTORY_DOCUMENTS } from '../../../server/limits.ts';
import type { History } from '../../../store/history.ts';
import { compareStoredActions, showAction } from '../actions/action.ts';
import { activityOf } from '../activity/of-server.ts';
import { DASHBOARD } from '../limits.ts';
import { logText } from '../log-text.ts';
import { type DivergenceReader, divergenceRow } from '../overview/divergence-row.ts';
import { DAY, figuresIn } from '../overview/figures.ts';
import { HeldAnswers } from '../overview/held-answers.ts';
import { hermeticityAnswer, readableDivergences } from '../overview/hermeticity.ts';
import { nowAnswer } from '../overview/now.ts';
import { setupAnswer } from '../overview/setup.ts';
import { StepReview } from '../overview/step-review.ts';
import { storageAnswer } from '../overview/storage.ts';
import { Survey } from '../overview/survey.ts';
import { TrendReview, type TrendsQuery, trendsAnswer } from '../overview/trends.ts';
import type { Reports } from '../runs/keep-report.ts';
import { noMisses, rankMisses } from '../runs/misses.ts';
import { listRuns, type RunsQuery, showRun } from '../runs/runs.ts';
import type { Action, ActionDifference } from './schemas/action.ts';
import type { Hermeticity } from './schemas/hermeticity.ts';
import type { Misses } from './schemas/misses.ts';
import type { Figures, Now, Tail } from './schemas/now.ts';
import type { Reported, Run, Runs } from './schemas/runs.ts';
import type { Setup } from './schemas/setup.ts';
import type { Storage } from './schemas/storage.ts';
import type { Trends } from './schemas/trends.ts';

interface Period {
  /** Until now. */
  readonly days?: number | undefined;
}

export async function reportRun(
  exchange: Exchange,
  reports: Reports,
  report: RunReport,
  namespace: string,
): Promise<Reported> {
  const { store, server } = exchange;
  const requested = parseRequestedNamespace(namespace);
  const sender = { namespace: store.ownNamespace(requested), identity: store.identity.name };
  const mayReadBlobs = store.identity.rights.has('blobs:read');
  const context = {
    history: storeHistoryOf(exchange),
    limit: server.info.indexLimit(),
    accounts: server.info.accounts,
    sender,
    readable: store.readable,
    blobs: mayReadBlobs ? store.blobs : undefined,
    now: Date.now(),
  };
  await server.lifecycle.whileWriting(async () => {
    const { savedMs, explained } = await reports.keep(report, context);
    activityOf(server).ran(sender.namespace, savedMs);
    server.lifecycle.whileWriting(() => explained);
  });
  return { id: report.id, url: `${addressOf(exchange)}/runs/${report.id}` };
}

export function token({ store: { identity } }: Exchange): TokenInfo {
  const { name, namespace, reads, rights, expiresAt } = identity;
  return {
    name,
    namespace,
    reads,
    rights: [...rights].sort(),
    ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt).toISOString() }),
  };
}

export function runs(exchange: Exchange, query: Partial<RunsQuery>): Promise<Runs> {
  const limit = Math.min(query.limit ?? DASHBOARD.listedRuns, DASHBOARD.maxListedRuns);
  return listRuns(storeHistoryOf(exchange), exchange.store.reported, { ...query, limit });
}

export function runAnswer(exchange: Exchange, id: string): Promise<Run> {
  const { store } = exchange;
  const { isStored, mayReadBlobs } = readerOf(exchange);
  /* An overview shows runs of namespaces that are not readable: their logs stay hidden. */
  const logsIn = (namespace: Namespace) => {
    if (!mayReadBlobs || !isInRange(namespace, store.readable)) return undefined;
    return (log: Digest) => logText(log, Buffer.alloc(0), store.blobs);
  };
  return showRun(storeHistoryOf(exchange), store.reported, id, { isStored, logsIn });
}

function readerOf({ store }: Exchange): DivergenceReader {
  const mayReadBlobs = store.identity.rights.has('blobs:read');
  const isStored = async (key: string) =>
    mayReadBlobs && isHash(key) && (await store.blobs.get(key)) !== undefined;
  return { mayReadBlobs, isStored };
}

export function now(exchange: Exchange): Promise<Now> {
  const { server, store } = exchange;
  return nowAnswer(server, storeHistoryOf(exchange), store);
}

export async function tail({ server, store }: Exchange, after?: string): Promise<Tail> {
  return activityOf(server).tail.read(store.counted, after);
}

interface FiguresQuery {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly namespace?: string | undefined;
}

export function figures(exchange: Exchange, { from, to, namespace }: FiguresQuery): Promise<Figures> {
  const { server, store } = exchange;
  const end = timeIn(to) ?? Date.now();
  const start = timeIn(from) ?? end - DAY;
  if (start >= end || end - start > HISTORY_DOCUMENTS.keptMs)
    throw new AssayError('ASSAY_BAD_MESSAGE', 'from must be before to, and at most 90 days');
  /** Bytes are not counted by namespace. */
  const isWhole = seesWholeServer(store.identity) && namespace === undefined;
  const counted = within(store.counted, namespace);
  return figuresIn(server, storeHistoryOf(exchange), { counted, isWhole }, { from: start, to: end });
}

/** The part of a range that a request asks for. */
function within(range: NamespaceRange, namespace: string | undefined): NamespaceRange {
  return namespace === undefined ? range : narrowedTo(parseNamespace(namespace), range);
}

function timeIn(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw new AssayError('ASSAY_BAD_MESSAGE', 'from and to are times in ISO 8601');
  return time;
}

export async function hermeticity(exchange: Exchange, { days = 30 }: Period): Promise<Hermeticity> {
  const { server, store } = exchange;
  const to = Date.now();
  const counted = Math.min(days, DASHBOARD.maxDays);
  const [surveyed, reviewed] = await Promise.all([
    surveyOf(server).read(),
    reviewOf(storeHistoryOf(exchange)).read(store.reported, counted),
  ]);
  const period = { from: to - counted * DAY, to };
  return hermeticityAnswer(reviewed, surveyed, store.readable, period, readerOf(exchange));
}

export async function storage(exchange: Exchange): Promise<Storage> {
  const { server, store } = exchange;
  const surveyed = await surveyOf(server).read();
  return storageAnswer(server, storeHistoryOf(exchange), store.identity, store.counted, surveyed);
}

export function setup(exchange: Exchange): Promise<Setup> {
  const { server, store, request } = exchange;
  const address = {
    host: request.headers.host ?? 'HOST',
    isTls: 'encrypted' in request.socket,
    needsToken: !server.access.isOpen,
  };
  return setupAnswer(server, storeHistoryOf(exchange), store.counted, address);
}

export async function action(exchange: Exchange, key: Hash, namespace?: string): Promise<Action> {
  const { server, store } = exchange;
  const divergences = readableDivergences(await surveyOf(server).read(0), store.readable);
  const divergenceOf = async (resultKey: Hash) => {
    const found = divergences.find((one) => one.key === resultKey);
    return found && divergenceRow(found, readerOf(exchange));
  };
  return showAction(store, storeHistoryOf(exchange), { key, namespace, divergenceOf });
}

export function difference(exchange: Exchange, from: Hash, to: Hash): Promise<ActionDifference> {
  return compareStoredActions(exchange.store, from, to);
}

const surveyOf = onceFor(({ wholeStore }: ServerContext) => new Survey(wholeStore));
const reviewOf = onceFor((history: History) => new StepReview(history));
const trendsOf = onceFor((history: History) => new TrendReview(history));
const missesOf = onceFor((_history: History) => new HeldAnswers<Misses>());

/** Makes one for each server, or each store. */
function onceFor<Owner extends object, Made>(make: (owner: Owner) => Made): (owner: Owner) => Made {
  const all = new WeakMap<Owner, { readonly made: Made }>();
  return (owner) => {
    const known = all.get(owner) ?? { made: make(owner) };
    all.set(owner, known);
    return known.made;
  };
}

export async function misses(
  exchange: Exchange,
  { days = 7, namespace }: Period & { readonly namespace?: string | undefined },
): Promise<Misses> {
  const history = storeHistoryOf(exchange);
  const readable = within(exchange.store.reported, namespace);
  const counted = Math.min(days, DASHBOARD.maxDays);
  const period = (to: number) => ({ from: to - counted * DAY, to });
  const find = async (at: number) => ({
    ...(await rankMisses(history, readable, period(at))),
    readAt: new Date(at).toISOString(),
  });
  const found = await missesOf(history).read([readable, counted], find);
  return found ?? noMisses(period(Date.now()));
}

export function trends(exchange: Exchange, { weeks = 12, ...query }: Partial<TrendsQuery>): Promise<Trends> {
  const asked = { ...query, weeks: Math.min(weeks, DASHBOARD.maxWeeks) };
  return trendsAnswer(trendsOf(storeHistoryOf(exchange)), exchange.store.reported, asked);
}

function storeHistoryOf({ server: { wholeStore } }: Exchange): History {
  if (wholeStore.history) return wholeStore.history;
  throw new AssayError('ASSAY_NOT_FOUND', 'the store of this server keeps no history');
}

/** As the client addresses the server. */
function addressOf({ request }: Exchange): string {
  const isEncrypted = 'encrypted' in request.socket;
  return `${isEncrypted ? 'https' : 'http'}://${request.headers.host ?? 'localhost'}`;
}
