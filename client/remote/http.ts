// A remote over HTTP: <url>/ac/<key> and <url>/cas/<hash>, as in Bazel and `assay serve`. Path sets are a
// protocol of `assay serve` alone (path-set-messages.ts).
import { Readable } from 'node:stream';
import { concurrently } from '../../core/concurrently.ts';
import type { Digest, Hash } from '../../core/digest.ts';
import { messageOf } from '../../core/errors.ts';
import { appendBlobs, INLINED_BLOBS_HEADER } from '../../core/inlined-blobs.ts';
import { BUNDLE_HEADER } from '../../core/metadata/bundle.ts';
import { RUNS_HEADER, reportForm } from '../../core/metadata/run-report.ts';
import { NAMESPACE_HEADER } from '../../core/namespace.ts';
import { PATH_SETS_PATH } from '../../core/path-set.ts';
import { VERSION } from '../../core/version.ts';
import type { Content } from '../../store/store.ts';
import { REMOTE } from '../limits.ts';
import { authorization } from './authorization.ts';
import { InlinedBlobs } from './inlined-blobs.ts';
import {
  decodeFound,
  decodePublished,
  decodeReceivedList,
  encodeFind,
  headersFor,
  inlinedFor,
  listFrom,
  MAX_FOUND_BYTES,
  MAX_LIST_BYTES,
  MAX_PUBLISHED_BYTES,
} from './path-set-messages.ts';
import { Predictions } from './predictions.ts';
import {
  type Asking,
  type FoundResult,
  type KeepBlob,
  missingBlobFault,
  type OnBlobPresent,
  OUTCOME_HEADER,
  type PathSetList,
  type Publication,
  type ReadBlob,
  type Remote,
  RemoteFault,
  type RemoteOptions,
  type ResultCandidate,
  WriteRefused,
} from './remote.ts';
import { type Body, expectSuccess, expectTaken, type Response } from './response.ts';
import { WaitBudget } from './wait-budget.ts';

/** undici is imported lazily: loading it takes longer than a whole local hit. */
export async function openHttpRemote(options: RemoteOptions): Promise<Remote> {
  const { Agent, request } = await import('undici');
  const agent = new Agent({
    connections: REMOTE.connections,
    pipelining: 1,
    // The wait budget ends a connection attempt sooner, and ignores time in which this process gets no CPU.
    connectTimeout: REMOTE.connectMs,
  });
  const send: Send = (url, init) => request(url, { ...init, dispatcher: agent });
  return new HttpRemote(options, send, () => agent.destroy());
}

/** Asks for small blobs together with the result: a hit takes one round trip instead of three. */
const INLINE_REQUEST = { [INLINED_BLOBS_HEADER]: String(REMOTE.inlinedBlobsBytes) };

interface RequestInit {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'PATCH';
  readonly headers: Record<string, string>;
  readonly body: Body | null;
  readonly signal: AbortSignal;
}

type Send = (url: string, init: RequestInit) => Promise<Response>;

class HttpRemote implements Remote {
  readonly #base: string;
  readonly #pathSets: string;
  readonly #headers: Record<string, string>;
  readonly #send: Send;
  readonly #destroy: () => Promise<void>;
  readonly #budget: WaitBudget;
  readonly #inlinedBlobs = new InlinedBlobs();
  readonly #predictions = new Predictions();
  readonly #namespaces = new Map<Hash, string>();
  #takesWrites = true;
  #reportForm = 0;
  #takesPublications = false;
  /** Undefined before the first question. */
  #keepsLists: boolean | undefined;

  constructor(options: RemoteOptions, send: Send, destroy: () => Promise<void>) {
    const { url, token, now, tool = 'assay', bundle } = options;
    this.#base = `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
    this.#pathSets = `${url.origin}${PATH_SETS_PATH}${namespacePrefix(url)}`;
    this.#headers = {
      ...authorization(url, token),
      'user-agent': `${tool}/${VERSION}`,
      ...(bundle && { [BUNDLE_HEADER]: bundle }),
    };
    this.#send = send;
    this.#destroy = destroy;
    this.#budget = new WaitBudget(now);
  }

  get usable(): boolean {
    return !this.#budget.signal.aborted;
  }

  get reportForm(): number {
    return this.#reportForm;
  }

  get takesPublications(): boolean {
    return this.#takesPublications;
  }

  get takesWrites(): boolean {
    return this.#takesWrites;
  }

  giveUp(why: string): void {
    this.#budget.giveUp(why);
  }

  async getResult(key: Digest): Promise<Uint8Array | undefined> {
    return this.#attempt(async () => {
      const response = await this.#request('GET', `${this.#base}/ac/${key.hash}`, undefined, INLINE_REQUEST);
      if (isMiss(response)) return this.#discard(response);
      this.#noteNamespace(key.hash, response);
      const limit = REMOTE.maxResultBytes + REMOTE.inlinedBlobsBytes;
      return this.#inlinedBlobs.receive(await this.#whole(await expectSuccess(response), limit));
    });
  }

  /** Any answer that is no list means that there are no lists, and is never a fault. */
  async listPathSets(action: Hash, asking: Asking = {}): Promise<PathSetList | undefined> {
    if (this.#keepsLists === false) return undefined;
    return this.#attempt(async () => {
      const inlined = inlinedFor(this.#predictions, asking);
      const step = asking.step === undefined ? '' : `&step=${asking.step}`;
      const url = `${this.#pathSets}${action}${inlined === 0 ? '' : `?inlined=${inlined}${step}`}`;
      const response = await this.#request('GET', url, undefined, headersFor(asking.purpose));
      this.#reportForm ||= reportForm(response.headers[RUNS_HEADER]);
      const isOther = response.statusCode !== 200;
      const bytes = isOther ? await this.#discard(response) : await this.#wholeIf(response, MAX_LIST_BYTES);
      const list = bytes && decodeReceivedList(bytes);
      this.#keepsLists = list !== undefined;
      if (!list) return undefined;
      this.#takesPublications = list.takesPublications;
      if (list.predicted) this.#noteNamespace(list.predicted.key, response);
      if (list.earlier.length > 0) asking.onEarlier?.(list.earlier);
      return listFrom(list, (answer) => this.#inlinedBlobs.receive(answer), this.#predictions);
    });
  }

  async findResult(
    action: Hash,
    candidates: readonly ResultCandidate[],
    afterPrediction: boolean,
    { purpose, step, onEarlier }: Asking = {},
  ): Promise<FoundResult | undefined> {
    if (afterPrediction) this.#predictions.noteWrong();
    return this.#attempt(async () => {
      const find = Buffer.from(encodeFind(candidates, afterPrediction, step)).toString('base64url');
      const url = `${this.#pathSets}${action}?find=${find}`;
      const response = await this.#request('GET', url, undefined, headersFor(purpose));
      const bytes = await this.#whole(await expectSuccess(response), MAX_FOUND_BYTES);
      const found = decodeFound(bytes, candidates, onEarlier);
      if (found) this.#noteNamespace(found.key, response);
      return found && { key: found.key, result: this.#inlinedBlobs.receive(found.answer) };
    });
  }

  /** Asks first: a server without lists might store the request as a file. */
  async addPathSet(action: Hash, set: Hash): Promise<boolean> {
    if (this.#keepsLists === undefined) await this.listPathSets(action);
    if (!this.#keepsLists) return false;
    await this.#put(`${this.#pathSets}${action}?set=${set}`, 0, NOTHING);
    return true;
  }

  publish({ action, key, result, blobs, set, isFirst }: Publication): ReturnType<Remote['publish']> {
    const query = new URLSearchParams({
      publish: key.hash,
      ...(set && { set }),
      ...(isFirst && { first: '1' }),
    });
    const body = appendBlobs({ result: Buffer.from(result), blobs });
    return this.#upload(body.length, async () => {
      const upload = { size: body.length, body };
      const response = await this.#request('PUT', `${this.#pathSets}${action}?${query}`, upload);
      await expectTaken(response);
      return decodePublished(await this.#whole(response, MAX_PUBLISHED_BYTES));
    });
  }

  async putRival(action: Hash, key: Digest, result: Uint8Array): Promise<boolean> {
    const body = appendBlobs({ result: Buffer.from(result), blobs: [] });
    return this.#upload(body.length, async () => {
      const upload = { size: body.length, body };
      const response = await this.#request('PUT', `${this.#pathSets}${action}?rival=${key.hash}`, upload);
      if (response.statusCode === NOT_UNDERSTOOD) {
        await this.#discard(response);
        return false;
      }
      await expectTaken(response);
      return decodePublished(await this.#whole(response, MAX_PUBLISHED_BYTES)) === 'diverged';
    });
  }

  inlinedBlob(hash: Hash): Buffer | undefined {
    return this.#inlinedBlobs.peek(hash);
  }

  async getBlobs(digests: readonly Digest[], keep: KeepBlob): Promise<void> {
    await concurrently(digests, REMOTE.concurrency, async (digest) => {
      const content = this.#inlinedBlobs.take(digest.hash) ?? (await this.#getBlob(digest));
      if (!content) throw missingBlobFault(digest);
      await keep(digest, content);
    });
  }

  async putBlobs(digests: readonly Digest[], read: ReadBlob, onPresent: OnBlobPresent): Promise<void> {
    await concurrently(digests, REMOTE.concurrency, async (digest) => {
      const there = digest.size > REMOTE.askBytes && (await this.#has(digest));
      if (!there) await this.#putBlob(digest, read);
      onPresent(digest, !there);
    });
  }

  async putResult(key: Digest, result: Uint8Array): Promise<'stored' | 'diverged'> {
    const outcome = await this.#put(`${this.#base}/ac/${key.hash}`, result.length, result);
    return outcome === 'diverged' ? outcome : 'stored';
  }

  namespaceOf(key: Hash): string | undefined {
    return this.#namespaces.get(key);
  }

  #noteNamespace(key: Hash, { headers }: Response): void {
    const namespace = headers[NAMESPACE_HEADER];
    if (typeof namespace === 'string') this.#namespaces.set(key, namespace);
  }

  async close(): Promise<void> {
    await this.#destroy();
  }

  /** A server that keeps partial uploads does not get the same bytes twice, even from an earlier run. */
  async #putBlob(digest: Digest, read: ReadBlob): Promise<void> {
    if (digest.size <= REMOTE.resumeBytes)
      return void (await this.#put(`${this.#base}/cas/${digest.hash}`, digest.size, await read(digest, 0)));
    const { uploadResumably } = await import('./resumable.ts');
    await this.#upload(digest.size, () =>
      uploadResumably(digest, {
        read: async (offset) => this.#bodyOf(await read(digest, offset)),
        request: (method, path, headers, body) => this.#request(method, this.#base + path, body, headers),
        isOver: () => !this.usable,
      }),
    );
  }

  #bodyOf(content: Content): Body {
    return content instanceof Uint8Array ? content : this.#stream(content);
  }

  async #getBlob(digest: Digest): Promise<AsyncIterable<Uint8Array> | undefined> {
    return this.#attempt(async () => {
      const response = await this.#request('GET', `${this.#base}/cas/${digest.hash}`);
      if (isMiss(response)) return this.#discard(response);
      return this.#guarded(
        this.#body(await expectSuccess(response), digest.size, () => this.#budget.moved()),
      );
    });
  }

  async #has(digest: Digest): Promise<boolean> {
    return this.#attempt(async () => {
      const response = await this.#request('HEAD', `${this.#base}/cas/${digest.hash}`);
      await this.#discard(response);
      if (isMiss(response)) return false;
      await expectSuccess(response);
      return true;
    });
  }

  /** Returns the outcome header of an Assay server. */
  #put(url: string, size: number, content: Content): Promise<unknown> {
    return this.#upload(size, async () => {
      const response = await this.#request('PUT', url, { size, body: this.#bodyOf(content) });
      await expectTaken(response);
      await this.#discard(response);
      return response.headers[OUTCOME_HEADER];
    });
  }

  async #request(
    method: RequestInit['method'],
    url: string,
    upload?: { size: number; body: Body },
    more: Record<string, string> = {},
  ): Promise<Response> {
    const length = upload && { 'content-length': String(upload.size) };
    const headers = { ...this.#headers, ...more, ...length };
    const response = await this.#send(url, {
      method,
      headers,
      body: upload?.body ?? null,
      signal: this.#budget.signal,
    });
    this.#budget.moved();
    return response;
  }

  async #discard(response: Response): Promise<undefined> {
    await response.body.dump();
  }

  /** Undefined if the response is longer: the rest is not read. */
  async #wholeIf(response: Response, limit: number): Promise<Buffer | undefined> {
    try {
      return await this.#whole(response, limit);
    } catch (error) {
      if (error instanceof RemoteFault) return undefined;
      throw error;
    }
  }

  /** A response that worth.ts does not judge. */
  async #whole(response: Response, limit: number): Promise<Buffer> {
    const chunks: Uint8Array[] = [];
    const body = this.#body(response, limit, ({ length }) => this.#budget.received(length));
    for await (const chunk of body) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  /** The body's chunks. Throws if the body exceeds `limit`. */
  async *#body(
    response: Response,
    limit: number,
    onChunk: (bytes: Uint8Array) => void,
  ): AsyncGenerator<Uint8Array> {
    let size = 0;
    for await (const chunk of response.body) {
      const bytes: Uint8Array = chunk;
      size += bytes.length;
      if (size > limit) throw new RemoteFault('it sent more than it announced');
      onChunk(bytes);
      yield bytes;
    }
  }

  /** Copies each chunk: the store reuses its buffer for the next one, and a stream reads ahead. */
  #stream(content: AsyncIterable<Uint8Array>): Readable {
    const budget = this.#budget;
    async function* copies(): AsyncGenerator<Buffer> {
      for await (const chunk of content) {
        yield Buffer.from(chunk);
        budget.moved();
      }
    }
    return Readable.from(copies(), { highWaterMark: 2 });
  }

  /** A body is read after the request was answered; its errors are faults of the remote, too. */
  async *#guarded(body: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
    try {
      while (true) {
        const next = await this.#attempt(() => body.next());
        if (next.done) return;
        yield next.value;
      }
    } finally {
      await body.return(undefined);
    }
  }

  #attempt<T>(work: () => Promise<T>): Promise<T> {
    return this.#asFault(() => this.#budget.ask(work));
  }

  #upload<T>(bytes: number, work: () => Promise<T>): Promise<T> {
    return this.#asFault(() => this.#budget.send(bytes, work));
  }

  async #asFault<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      if (cause instanceof WriteRefused) {
        this.#takesWrites = false;
        throw cause;
      }
      const reason: unknown = this.#budget.signal.aborted ? this.#budget.signal.reason : cause;
      this.#budget.giveUp(messageOf(reason));
      throw new RemoteFault(messageOf(reason), { cause });
    }
  }
}

const NOTHING = new Uint8Array(0);

/** The answer of an older server to a request that it does not know. */
const NOT_UNDERSTOOD = 400;

/** The namespace of a remote is the path of its URL. */
function namespacePrefix({ pathname }: URL): string {
  const namespace = pathname.replace(/^\/+|\/+$/g, '');
  return namespace === '' ? '' : `${namespace}/`;
}

function isMiss(response: Response): boolean {
  return response.statusCode === 404 || response.statusCode === 204;
}
