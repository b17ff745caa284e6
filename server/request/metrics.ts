// The metrics of the server, in the Prometheus format of GET /metrics.
//
// A request increments plain numbers, and a scrape copies them to prom-client. prom-client's own `inc` builds
// a string to find its labels. A request increments three counters, so `inc` would cost too much
// (docs/MEASUREMENTS.md#0020).
import { Gauge, Registry } from 'prom-client';
import type { GrpcStatus } from '../../core/grpc-status.ts';
import type { Namespace, NamespaceRange } from '../../core/namespace.ts';
import { VERSION } from '../../core/version.ts';
import type { AccountUse } from '../../store/accounts.ts';
import type { StoreEvent } from '../../store/events.ts';
import { type Cell, CounterCells } from './counter-cells.ts';
import { Durations } from './durations.ts';
import { processMetrics } from './process-metrics.ts';
import { ResultLookups } from './result-lookups.ts';
import { PROTOCOLS } from './tools.ts';

const METHODS = ['GET', 'HEAD', 'PUT', 'POST', 'other'] as const;
const STATUS_CLASSES = ['1xx', '2xx', '3xx', '4xx', '5xx'] as const;

/** The two URL kinds of Bazel's HTTP protocol. */
export type Kind = 'cas' | 'ac';

const LOOKUPS = ['cas', 'ac', 'asset', ...PROTOCOLS] as const;

export type Lookup = (typeof LOOKUPS)[number];

const ROUTES = [
  'cas',
  'ac',
  ...PROTOCOLS,
  'status',
  'metrics',
  'healthz',
  'readyz',
  'auth',
  'action-leases',
  'admin',
  'api',
  'page',
  'other',
] as const;

/** The `route` label of a request. */
export type Route = (typeof ROUTES)[number];

const RESULTS = 'assay_results_total';

interface MetricsPart {
  /** In Prometheus' text format: what the registry does not have. */
  text(): string;
}

export class Metrics {
  readonly #registry = new Registry();
  readonly #requests = requestCells(
    this.#counter('assay_http_requests_total', 'Requests answered.', ['route', 'method', 'status']),
  );
  readonly #calls = this.#counter('assay_grpc_calls_total', 'gRPC calls answered.', ['method', 'status']);
  /** The counts of OK and NOT_FOUND by method: nearly all calls end with one of these. */
  readonly #usualCalls = { OK: new Map<string, Cell>(), NOT_FOUND: new Map<string, Cell>() };
  readonly #lookups = lookupCells(
    this.#counter('assay_lookups_total', 'Lookups of blobs and results.', ['kind', 'outcome']),
  );
  readonly #received = this.#counter(
    'assay_received_bytes_total',
    'Bytes of request bodies received.',
    [],
  ).cell();
  readonly #sent = this.#counter('assay_sent_bytes_total', 'Bytes of blobs and results sent.', []).cell();
  readonly #events = this.#counter('assay_store_events_total', 'Events of the store.', ['event']);

  readonly #results = new ResultLookups(
    this.#counter(RESULTS, 'Lookups of results by tool and namespace.', ['tool', 'namespace', 'outcome']),
  );
  readonly #durations = new Durations(
    'assay_request_duration_seconds',
    'Time until the response of a request begins, by route of HTTP and method of gRPC.',
    'route',
  );
  readonly #parts: MetricsPart[] = [];

  readonly #denied = this.#counter(
    'assay_denied_total',
    'Requests and calls that their token, or a read-only server, did not allow, by route of HTTP and method of gRPC.',
    ['route'],
  );

  #evictedUnusedMs: number | undefined;
  readonly #evicted = this.#counter('assay_evicted_total', 'Results, blobs and bytes evicted.', ['what']);

  readonly #orphans = this.#counter(
    'assay_orphans_total',
    'Files without an index entry, and index entries without a file.',
    ['what'],
  );

  constructor() {
    const registers = [this.#registry];
    processMetrics(this.#registry);
    const info = new Gauge({ name: 'assay_info', help: 'Always 1.', labelNames: ['version'], registers });
    info.set({ version: VERSION }, 1);
  }

  /** Each scrape reads these numbers. */
  watch(space: { used(): number; readonly limit: number }): void {
    const registers = [this.#registry];
    new Gauge({
      name: 'assay_store_bytes',
      help: 'Bytes in the store: its files and its index.',
      registers,
      collect() {
        this.set(space.used());
      },
    });
    new Gauge({
      name: 'assay_store_limit_bytes',
      help: 'The size limit of the store.',
      registers,
      collect() {
        this.set(space.limit);
      },
    });
  }

  /** The same of the namespaces that have a quota or a floor. */
  watchAccounts(accounts: readonly AccountUse[]): void {
    this.#accountGauge('bytes', 'What an account holds.', accounts, ({ bytes }) => bytes);
    const [quotas, floors] = [accounts.filter((one) => one.hasQuota), accounts.filter((one) => one.hasFloor)];
    this.#accountGauge('quota_bytes', 'The most that an account may hold.', quotas, ({ quota }) => quota);
    this.#accountGauge('floor_bytes', 'What is not evicted for others.', floors, ({ floor }) => floor);
  }

  #accountGauge(
    name: string,
    help: string,
    accounts: readonly AccountUse[],
    numberOf: (account: AccountUse) => number,
  ): void {
    if (accounts.length === 0) return;
    new Gauge({
      name: `assay_account_${name}`,
      help,
      labelNames: ['account'],
      registers: [this.#registry],
      collect() {
        for (const account of accounts) this.set({ account: account.name }, numberOf(account));
      },
    });
  }

  /** Adds metrics that only some servers have. What they register, and their text, is on the page. */
  add<Part extends MetricsPart>(make: (registry: Registry) => Part): Part {
    const part = make(this.#registry);
    this.#parts.push(part);
    return part;
  }

  answered(route: Route, method: string, status: number, tookMs: number): void {
    this.#durations.add(route, tookMs);
    const byMethod = this.#requests[route];
    const cell = (byMethod.get(method) ?? byMethod.get('other'))?.[Math.floor(status / 100) - 1];
    if (cell) cell.value++;
  }

  /** Some tools get a success for it, so the status does not show it. */
  denied(route: string): void {
    this.#denied.cell(route).value++;
  }

  called(method: string, status: GrpcStatus, tookMs: number): void {
    this.#durations.add(method, tookMs);
    const usual = status === 'OK' || status === 'NOT_FOUND' ? this.#usualCalls[status] : undefined;
    const known = usual?.get(method);
    const cell = known ?? this.#calls.cell(method, status);
    if (!known) usual?.set(method, cell);
    cell.value++;
  }

  lookedUp(kind: Lookup, found: boolean): void {
    const { hits, misses } = this.#lookups[kind];
    (found ? hits : misses).value++;
  }

  /** `tool` is one of a bounded number. */
  lookedUpBy(tool: string, namespace: Namespace, found: boolean): void {
    this.#results.add(tool, namespace, found);
  }

  /** Since the start. */
  get evictedBytes(): number {
    return this.#evicted.cell('bytes').value;
  }

  /** How long what was evicted last had not been used. Undefined if nothing was, or if that is not known. */
  get evictedUnusedMs(): number | undefined {
    return this.#evictedUnusedMs;
  }

  /** Since the start. */
  get bytes(): { readonly received: number; readonly sent: number } {
    return { received: this.#received.value, sent: this.#sent.value };
  }

  received(bytes: number): void {
    this.#received.value += bytes;
  }

  sent(bytes: number): void {
    this.#sent.value += bytes;
  }

  storeEvent(event: StoreEvent): void {
    this.#events.cell(event.type).value++;
    if (event.type === 'reconciled') {
      this.#orphans.cell('file').value += event.strays;
      this.#orphans.cell('entry').value += event.lost;
    }
    if (event.type !== 'evicted' && event.type !== 'cleaned') return;
    this.#evicted.cell('results').value += event.results;
    this.#evicted.cell('blobs').value += event.blobs;
    this.#evicted.cell('bytes').value += event.bytes;
    if (event.results + event.blobs > 0) this.#evictedUnusedMs = event.unusedMs;
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  async page(): Promise<string> {
    const texts = [this.#durations, ...this.#parts].map((part) => part.text());
    return `${await this.#registry.metrics()}${texts.join('')}`;
  }

  /** For a reader of some namespaces: what is counted by namespace. All other metrics are of all tenants. */
  pageOf(range: NamespaceRange): string {
    return this.#results.text(RESULTS, range);
  }

  #counter(name: string, help: string, labelNames: readonly string[]): CounterCells {
    return new CounterCells(this.#registry, name, help, labelNames);
  }
}

type RequestCells = Readonly<Record<Route, ReadonlyMap<string, readonly Cell[]>>>;

function requestCells(counter: CounterCells): RequestCells {
  return forEach(
    ROUTES,
    (route) =>
      new Map(
        METHODS.map((method) => [
          method,
          STATUS_CLASSES.map((status) => counter.cell(route, method, status)),
        ]),
      ),
  );
}

function lookupCells(
  counter: CounterCells,
): Readonly<Record<Lookup, { readonly hits: Cell; readonly misses: Cell }>> {
  return forEach(LOOKUPS, (kind) => ({
    hits: counter.cell(kind, 'hit'),
    misses: counter.cell(kind, 'miss'),
  }));
}

function forEach<Name extends string, T>(names: readonly Name[], make: (name: Name) => T): Record<Name, T> {
  return Object.fromEntries(names.map((name) => [name, make(name)])) as Record<Name, T>;
}
