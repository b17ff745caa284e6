// ScopedStore: the store as one identity sees it. Every protocol uses it, and none has another store.
// Guarantees:
// - It writes results and labels only to the identity's own namespace. A request can't name another one: what
//   it names lies below the identity's namespace.
// - It reads the own namespace, then those that the identity may read in their order, then the ancestors.
// - Its blobs are those of the tenant, which is the first part of the namespace.
// - Without a right to blobs or results it gives none. Which of reading and writing a route needs, the route
//   says itself before it acts (Exchange.authorize): a route that writes also has to read what it wrote.
import type { Hash } from '../../core/digest.ts';
import { AssayError } from '../../core/errors.ts';
import {
  ancestorsOf,
  DEFAULT_NAMESPACE,
  isWrittenFrom,
  NAMESPACE_HEADER,
  type Namespace,
  type NamespaceRange,
  namespaceBelow,
  writtenFrom,
} from '../../core/namespace.ts';
import { STORE } from '../../store/limits.ts';
import { labelEntry, pathSetEntry, resultEntry, type WriteLog } from '../../store/log/write-log.ts';
import type {
  Blobs,
  LabelAddress,
  Labelled,
  Labels,
  ResultAddress,
  ResultChange,
  ResultOutcome,
  ResultPutOptions,
  Results,
  Store,
  StoredResult,
  UploadPart,
  Uploads,
  Writer,
} from '../../store/store.ts';
import type { Identity } from './identity.ts';
import { any, isMet, type Requirement } from './rights.ts';

const SOME_BLOBS = any('blobs:read', 'blobs:write');
const SOME_RESULTS = any('results:read', 'results:write');
const LABELS = any('labels:write');
const UPLOADS = any('blobs:write');

type ScopedResults = Results & {
  /** Only in the own namespace: for what an upload in parts has left there. */
  getOwn(address: ResultAddress): Promise<StoredResult | undefined>;
  /** The result of each namespace that has one, in the order of the lookup. */
  everywhere(address: ResultAddress): AsyncIterable<StoredResult>;
};

export class ScopedStore {
  readonly identity: Identity;
  /** The namespace in which the last result or label was found or written. */
  namespace: Namespace | undefined;
  readonly #store: Store;
  readonly #writer: (ofResult?: boolean) => Writer;
  readonly #lookups: readonly Namespace[];
  readonly #log: WriteLog | undefined;

  /**
   * `narrowedTo`: what the request wants to read of what its identity may read. `log` gets each result, label
   * and path set that is written.
   */
  constructor(
    whole: Store,
    identity: Identity,
    writer: (ofResult?: boolean) => Writer,
    narrowedTo?: (namespace: Namespace) => boolean,
    log?: WriteLog,
  ) {
    const lookups = lookupsOf(identity);
    this.identity = identity;
    this.#store = identity.namespace === '' ? whole : whole.tenant(identity.namespace);
    this.#writer = writer;
    this.#log = log;
    this.#lookups = narrowedTo ? lookups.filter(narrowedTo) : lookups;
  }

  require(requirement: Requirement): void {
    const denial = this.denial(requirement);
    if (denial) throw denial;
  }

  denial(requirement: Requirement): AssayError | undefined {
    return isMet(requirement, this.identity.rights) ? undefined : forbidden(requirement);
  }

  get blobs(): Blobs {
    this.require(SOME_BLOBS);
    return this.#store.blobs;
  }

  /** True if a lookup can find what lies in this namespace of the whole store. */
  mayRead(stored: Namespace): boolean {
    return (
      this.identity.rights.has('results:read') && this.#lookups.some((base) => isWrittenFrom(stored, base))
    );
  }

  /** The namespaces of a history that it may read (core/namespace.ts, writtenFrom). */
  get readable(): NamespaceRange {
    if (!this.identity.rights.has('results:read')) return [];
    if (this.#lookups.includes(DEFAULT_NAMESPACE)) return undefined;
    return this.#isAdmin ? this.#withBelow(this.#lookups) : this.#lookups;
  }

  /** The namespaces whose runs it sees: their steps, causes and findings, but no blob and no log. */
  get reported(): NamespaceRange {
    const { readable } = this;
    if (!this.#hasOverview || readable === undefined || 'below' in readable) return readable;
    return this.#withBelow(readable);
  }

  /** Where those report their runs whose results a lookup of this namespace finds, in the order of the lookup. */
  reportedIn(requested: Namespace): readonly Namespace[] {
    if (!this.identity.rights.has('results:read')) return [];
    return [...new Set(this.#lookups.map((base) => writtenFrom(namespaceBelow(base, requested))))];
  }

  /** Where a lookup of this namespace looks for results, in its order. */
  lookedUpIn(requested: Namespace): readonly Namespace[] {
    if (!this.identity.rights.has('results:read')) return [];
    return this.#lookups.map((base) => namespaceBelow(base, requested));
  }

  /** The namespaces whose figures it sees. */
  get counted(): NamespaceRange {
    const { namespace, rights } = this.identity;
    if (rights.has('server:stats')) return undefined;
    const own = rights.has('stats') ? this.#lookups.filter((one) => one === namespace) : [];
    return this.#isAdmin || this.#hasOverview ? this.#withBelow(own) : own;
  }

  get #isAdmin(): boolean {
    return this.identity.rights.has('admin');
  }

  /** An overview is one of a tenant. Below the empty namespace lie all tenants. */
  get #hasOverview(): boolean {
    return this.identity.rights.has('overview') && this.identity.namespace !== DEFAULT_NAMESPACE;
  }

  /** With what lies at and below the own namespace, unless the request asks for less. */
  #withBelow(besides: readonly Namespace[]): NamespaceRange {
    const { namespace: below } = this.identity;
    if (!this.#lookups.includes(below)) return besides;
    return below === DEFAULT_NAMESPACE ? undefined : { below, besides };
  }

  /** Where the identity writes what the request addresses. */
  own({ namespace, key }: ResultAddress): ResultAddress {
    return { namespace: this.ownNamespace(namespace), key };
  }

  ownNamespace(requested: Namespace): Namespace {
    return namespaceBelow(this.identity.namespace, requested);
  }

  get results(): ScopedResults {
    this.require(SOME_RESULTS);
    return {
      get: (address) => this.#get(address),
      getOwn: (address) => this.#store.results.get(this.own(address)),
      everywhere: (address) => this.#everywhere(address),
      put: (address, bytes, options) => this.#put(address, bytes, options),
      update: (address, change) => this.#update(address, change),
    };
  }

  async #get({ namespace, key }: ResultAddress): Promise<StoredResult | undefined> {
    let inSameView = false;
    for (const base of this.#lookups) {
      const address = { namespace: namespaceBelow(base, namespace), key };
      const found = await this.#store.results.get(address, inSameView);
      inSameView = true;
      if (!found) continue;
      this.namespace = shownNamespace(base, namespace);
      return found;
    }
    return undefined;
  }

  async *#everywhere({ namespace, key }: ResultAddress): AsyncGenerator<StoredResult> {
    for (const base of this.#lookups) {
      const found = await this.#store.results.get({ namespace: namespaceBelow(base, namespace), key });
      if (found) yield found;
    }
  }

  async #put(address: ResultAddress, bytes: Uint8Array, options?: ResultPutOptions): Promise<ResultOutcome> {
    const own = this.own(address);
    this.namespace = shownNamespace(this.identity.namespace, address.namespace);
    const writer = this.#writer(true);
    const outcome = await this.#store.results.put(own, bytes, { ...options, writer });
    this.#log?.add(resultEntry(own, outcome, bytes, writer));
    return outcome;
  }

  #update(address: ResultAddress, change: ResultChange): Promise<void> {
    return this.#store.results.update(this.own(address), change, this.#writer());
  }

  /** For the write log: a path set was added to the list at this address. */
  notePathSet(address: ResultAddress, set: Hash): void {
    this.#log?.add(pathSetEntry(this.own(address), set, this.#writer()));
  }

  get labels(): Labels {
    return {
      put: async ({ namespace, label }: LabelAddress, key, guard) => {
        this.require(LABELS);
        const own = { namespace: namespaceBelow(this.identity.namespace, namespace), label };
        const owned = guard && { ...guard, lease: this.own(guard.lease) };
        const outcome = await this.#store.labels.put(own, key, owned);
        this.#log?.add(labelEntry(own, key, outcome, this.#writer()));
        return outcome;
      },
      newest: async (namespace, prefixes, exact) => {
        this.require(SOME_RESULTS);
        for (const base of this.#lookups) {
          const within = namespaceBelow(base, namespace);
          const found = await this.#store.labels.newest(within, prefixes, exact);
          if (!found) continue;
          this.namespace = shownNamespace(base, namespace);
          return found;
        }
        return undefined;
      },
      all: async (namespace, prefix) => {
        this.require(SOME_RESULTS);
        const found = new Map<string, Labelled>();
        for (const base of this.#lookups)
          for (const one of await this.#store.labels.all(namespaceBelow(base, namespace), prefix))
            if (found.size < STORE.listedLabels && !found.has(one.label)) found.set(one.label, one);
        return [...found.values()];
      },
    };
  }

  get uploads(): ScopedUploads {
    this.require(UPLOADS);
    return new ScopedUploads(this.#store.uploads, this.identity.namespace);
  }
}

/** Uploads in parts. Two identities with the same id have two uploads. */
export class ScopedUploads implements Uploads {
  /** The same object for all identities. */
  readonly whole: Uploads;
  readonly #namespace: Namespace;

  constructor(whole: Uploads, namespace: Namespace) {
    this.whole = whole;
    this.#namespace = namespace;
  }

  scoped(id: string): string {
    return this.#namespace === '' ? id : `${this.#namespace}= ${id}`;
  }

  status(id: string) {
    return this.whole.status(this.scoped(id));
  }

  append(id: string, part: UploadPart) {
    return this.whole.append(this.scoped(id), part);
  }

  cancel(id: string) {
    return this.whole.cancel(this.scoped(id));
  }
}

const knownLookups = new WeakMap<Identity, readonly Namespace[]>();

/**
 * The namespaces of a lookup in their order. Without the right to read results, only the own one: a writer reads
 * what it wrote.
 */
function lookupsOf(identity: Identity): readonly Namespace[] {
  const known = knownLookups.get(identity);
  if (known) return known;
  const { namespace, reads, rights } = identity;
  const others = rights.has('results:read') ? [...reads, ...ancestorsOf(namespace)] : [];
  const lookups = [...new Set([namespace, ...others])];
  knownLookups.set(identity, lookups);
  return lookups;
}

/** What an answer names: the namespace of the lookup, or for the whole server the one that was asked for. */
function shownNamespace(base: Namespace, requested: Namespace): Namespace {
  return base === '' && !requested.startsWith('~') ? requested : base;
}

function forbidden({ rights, isAny }: Requirement): AssayError {
  const needed = rights.join(isAny ? ' or ' : ' and ');
  return new AssayError('ASSAY_FORBIDDEN', `this needs the right ${needed}`);
}

/** With the same header a request may ask for some of the namespaces that its identity reads. */
export function narrowedBy(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): ((namespace: Namespace) => boolean) | undefined {
  const asked = headers[NAMESPACE_HEADER];
  if (asked === undefined) return undefined;
  const wanted = new Set(
    String(asked)
      .split(',')
      .map((text) => text.trim()),
  );
  return (namespace) => wanted.has(namespace);
}
