// The scope of one request: an HTTP exchange or a gRPC call. It knows who sends the request, what that may do, and what counts.
// Guarantees: without a credential a request has no store, and a store without the right is refused. What a lookup, a
// denial or a response counts is the same over HTTP and gRPC.
import type { IncomingHttpHeaders } from 'node:http';
import { isHash } from '../core/digest.ts';
import { AssayError, messageOf } from '../core/errors.ts';
import { BUNDLE_HEADER, viaBundle } from '../core/metadata/bundle.ts';
import { COMPARISON_HEADER } from '../core/path-set.ts';
import type { ResultAddress, Writer } from '../store/store.ts';
import type { Identity } from './access/identity.ts';
import { isDenial, isWrite, NOTHING_MORE, type Requirement } from './access/rights.ts';
import { narrowedBy, ScopedStore } from './access/scoped-store.ts';
import type { RequestContext, ServerContext } from './context.ts';
import type { AskedResult } from './request/accounting.ts';
import type { Lookup } from './request/metrics.ts';

export abstract class RequestScope implements RequestContext {
  readonly server: ServerContext;
  readonly #began = performance.now();
  #store: ScopedStore | undefined;

  constructor(server: ServerContext) {
    this.server = server;
  }

  abstract readonly headers: IncomingHttpHeaders;
  /** The route of HTTP, or the method of gRPC. */
  protected abstract readonly label: string;
  protected abstract readonly remoteAddress: string | undefined;
  /** For the log. */
  protected abstract readonly about: { readonly method: string; readonly route?: string };

  protected checkRunning(): void {
    if (this.server.lifecycle.isStopping) throw new AssayError('ASSAY_SHUTTING_DOWN', 'try again later');
  }

  /** The server must be the one that the client means. */
  protected checkHost(host: string | undefined): void {
    this.server.checkHost(host);
    this.server.checkOrigin(this.headers, host);
  }

  /** Finds who sends the request. Without it, a request has no store. */
  authorize(requirement: Requirement = NOTHING_MORE): void {
    this.authorizeAs(this.server.access.ofHeader(this.headers.authorization), requirement);
  }

  /** For a protocol that sends its credential in its own way. */
  authorizeAs(identity: Identity | undefined, requirement: Requirement = NOTHING_MORE): void {
    if (!identity) throw new AssayError('ASSAY_UNAUTHORIZED', 'this server requires a token');
    const { wholeStore, writeLog } = this.server;
    const writer = (ofResult = false) => (ofResult ? this.#resultWriter() : this.writer());
    this.#store = new ScopedStore(wholeStore, identity, writer, narrowedBy(this.headers), writeLog);
    this.require(requirement);
  }

  /** What the request needs besides a credential. Call it before the request has an effect. */
  require(requirement: Requirement): void {
    const denial = this.denial(requirement);
    if (denial) throw denial;
  }

  /** Why the request may not do this although its credential is valid. Undefined if it may. */
  denial(requirement: Requirement): AssayError | undefined {
    if (this.server.readOnly && isWrite(requirement))
      return new AssayError('ASSAY_READ_ONLY', 'this server is read-only');
    return this.store.denial(requirement);
  }

  /** The store as the identity of this request sees it. */
  get store(): ScopedStore {
    if (!this.#store) throw new AssayError('ASSAY_UNAUTHORIZED', 'this request was not authorized');
    return this.#store;
  }

  /** The namespace of what was found or written, for the header of the answer. */
  get namespace(): string | undefined {
    return this.#store?.namespace;
  }

  /** The writer, for the store and the write log. */
  writer(): Writer {
    const { name } = this.store.identity;
    return { name, from: this.remoteAddress ?? '', via: this.label, at: Date.now() };
  }

  /** The writer of a result that came with a bundle is the bundle, not the route. */
  #resultWriter(): Writer {
    const { [BUNDLE_HEADER]: bundle } = this.headers;
    const isNamed = typeof bundle === 'string' && isHash(bundle);
    return { ...this.writer(), ...(isNamed && { via: viaBundle(bundle) }) };
  }

  lookedUp(kind: Lookup, protocol: string, found: boolean, address: ResultAddress): void {
    if (this.#isComparison) return;
    this.server.accounting.lookedUp(kind, { ...this.#asked(protocol, address), found });
  }

  predicted(action: ResultAddress): void {
    if (!this.#isComparison) this.server.accounting.predicted(this.#asked('assay', action));
  }

  dropPrediction(action: ResultAddress): boolean {
    return !this.#isComparison && this.server.accounting.dropPrediction(this.#asked('assay', action));
  }

  get #isComparison(): boolean {
    return this.headers[COMPARISON_HEADER] !== undefined;
  }

  #asked(protocol: string, address: ResultAddress): AskedResult {
    const { store, headers } = this;
    const { namespace, key } = store.own(address);
    return { identity: store.identity, headers, protocol, namespace, key };
  }

  /** Milliseconds since the request began. */
  protected get tookMs(): number {
    return performance.now() - this.#began;
  }

  /** Tells observers of the response. `isError`: the server failed. */
  protected answered(isError: boolean, tookMs: number): void {
    this.server.accounting.answered(this.#store?.identity, isError, tookMs);
  }

  /** What was thrown, as an error of the catalogue. It is logged. */
  protected failed(thrown: unknown): AssayError {
    const error = thrown instanceof AssayError ? thrown : new AssayError('ASSAY_INTERNAL', messageOf(thrown));
    this.logError(error, thrown);
    return error;
  }

  /** The detail of a client's error quotes the client, which may have sent a secret in the wrong place. It is not logged. */
  protected logError({ code, detail, entry }: AssayError, thrown: unknown): void {
    const { log } = this.server;
    const about = { code, ...this.about };
    if (code === 'ASSAY_INTERNAL') log.error({ ...about, detail, err: thrown }, entry.summary);
    else if (entry.status >= 500) log.warn({ ...about, detail }, entry.summary);
    else log.debug(about, entry.summary);
  }

  /** Counts a response with this error, if it says that a right is missing. */
  protected countDenial(error: AssayError): void {
    if (isDenial(error)) this.server.accounting.denied(this.#store?.identity, this.label, error.detail);
  }
}
