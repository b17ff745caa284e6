// What GET /metrics tells, in Prometheus' words.
//
// A request adds to plain numbers, which prom-client sees when somebody scrapes: its own `inc` looks labels up by a string
// that it builds on every call, and a request makes three (docs/MEASUREMENTS.md#0020).
import { Counter, Gauge, Registry } from 'prom-client';
import type { GrpcStatus } from '../../core/grpc/status.ts';
import { VERSION } from '../../core/version.ts';
import type { StoreEvent } from '../../store/events.ts';
import { processMetrics } from './process-metrics.ts';

const METHODS = ['GET', 'HEAD', 'PUT', 'POST', 'other'] as const;
const STATUS_CLASSES = ['1xx', '2xx', '3xx', '4xx', '5xx'] as const;

/** The protocols of tools whose keys are opaque: each has a base path, a space of keys and a count of its own. */
export const PROTOCOLS = [
  'ccache',
  'gradle',
  'turbo',
  'nx',
  'rush',
  'actions',
  'azure',
  's3',
  'webdav',
  'labels',
] as const;

export type Protocol = (typeof PROTOCOLS)[number];

/** The two kinds of address that Bazel's protocol has. */
export type Kind = 'cas' | 'ac';

const LOOKUPS = ['cas', 'ac', ...PROTOCOLS] as const;

type Lookup = (typeof LOOKUPS)[number];

const ROUTES = [...LOOKUPS, 'status', 'metrics', 'healthz', 'other'] as const;

/** The name under which a request is counted. */
export type Route = (typeof ROUTES)[number];

export class Metrics {
  readonly #registry = new Registry();
  readonly #requests = requestCells(
    this.#tally('assay_http_requests_total', 'Requests answered.', ['route', 'method', 'status']),
  );
  readonly #calls = this.#tally('assay_grpc_calls_total', 'gRPC calls answered.', ['method', 'status']);
  /** Those of them that are nearly all, by their method. */
  readonly #answeredCalls = new Map<string, Cell>();
  readonly #lookups = lookupCells(
    this.#tally('assay_lookups_total', 'Blobs and results asked for.', ['kind', 'outcome']),
  );
  readonly #received = this.#tally('assay_received_bytes_total', 'Bytes of bodies taken.', []).cell();
  readonly #sent = this.#tally('assay_sent_bytes_total', 'Bytes of blobs and results given.', []).cell();
  readonly #events = this.#tally('assay_store_events_total', 'What the store reported.', ['event']);

  readonly #evicted = this.#tally('assay_evicted_total', 'What went because the store was full.', ['what']);

  readonly #orphans = this.#tally(
    'assay_orphans_total',
    'Files without an entry in the index, and entries without a file, that were met.',
    ['what'],
  );

  constructor() {
    const registers = [this.#registry];
    processMetrics(this.#registry);
    const info = new Gauge({ name: 'assay_info', help: 'Always 1.', labelNames: ['version'], registers });
    info.set({ version: VERSION }, 1);
  }

  /** Asks for these numbers when somebody scrapes. */
  watch(space: { used(): number; readonly limit: number }): void {
    const registers = [this.#registry];
    new Gauge({
      name: 'assay_store_bytes',
      help: 'What the store holds, in files and in its index.',
      registers,
      collect() {
        this.set(space.used());
      },
    });
    new Gauge({
      name: 'assay_store_limit_bytes',
      help: 'The most that it may hold.',
      registers,
      collect() {
        this.set(space.limit);
      },
    });
  }

  answered(route: Route, method: string, status: number): void {
    const byMethod = this.#requests[route];
    const cell = (byMethod.get(method) ?? byMethod.get('other'))?.[Math.floor(status / 100) - 1];
    if (cell) cell.value++;
  }

  called(method: string, status: GrpcStatus): void {
    const known = status === 'OK' ? this.#answeredCalls.get(method) : undefined;
    const cell = known ?? this.#calls.cell(method, status);
    if (!known && status === 'OK') this.#answeredCalls.set(method, cell);
    cell.value++;
  }

  lookedUp(kind: Lookup, found: boolean): void {
    const { hits, misses } = this.#lookups[kind];
    (found ? hits : misses).value++;
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
    if (event.type !== 'evicted') return;
    this.#evicted.cell('results').value += event.results;
    this.#evicted.cell('blobs').value += event.blobs;
    this.#evicted.cell('bytes').value += event.bytes;
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  page(): Promise<string> {
    return this.#registry.metrics();
  }

  #tally(name: string, help: string, labelNames: readonly string[]): Tally {
    return new Tally(this.#registry, name, help, labelNames);
  }
}

interface Cell {
  value: number;
}

/** A counter of which each combination of labels is a number that the caller holds and adds to. */
class Tally {
  readonly #cells = new Map<string, { readonly labels: readonly string[]; readonly cell: Cell }>();

  constructor(registry: Registry, name: string, help: string, labelNames: readonly string[]) {
    const cells = this.#cells;
    new Counter({
      name,
      help,
      labelNames: [...labelNames],
      registers: [registry],
      collect() {
        this.reset();
        for (const { labels, cell } of cells.values()) {
          if (labels.length === 0) this.inc(cell.value);
          else if (cell.value > 0) this.labels(...labels).inc(cell.value);
        }
      },
    });
  }

  cell(...labels: readonly string[]): Cell {
    const name = labels.join();
    const known = this.#cells.get(name);
    if (known) return known.cell;
    const cell = { value: 0 };
    this.#cells.set(name, { labels, cell });
    return cell;
  }
}

type RequestCells = Readonly<Record<Route, ReadonlyMap<string, readonly Cell[]>>>;

function requestCells(tally: Tally): RequestCells {
  return forEach(
    ROUTES,
    (route) =>
      new Map(
        METHODS.map((method) => [method, STATUS_CLASSES.map((status) => tally.cell(route, method, status))]),
      ),
  );
}

function lookupCells(tally: Tally): Readonly<Record<Lookup, { readonly hits: Cell; readonly misses: Cell }>> {
  return forEach(LOOKUPS, (kind) => ({ hits: tally.cell(kind, 'hit'), misses: tally.cell(kind, 'miss') }));
}

function forEach<Name extends string, T>(names: readonly Name[], make: (name: Name) => T): Record<Name, T> {
  return Object.fromEntries(names.map((name) => [name, make(name)])) as Record<Name, T>;
}
