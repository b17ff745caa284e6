// A remote over HTTP: <url>/ac/<key> and <url>/cas/<hash>, as in Bazel and `assay serve`.
import { Readable } from 'node:stream';
import { concurrently } from '../../core/concurrently.ts';
import type { Digest } from '../../core/digest.ts';
import { messageOf } from '../../core/errors.ts';
import { INLINED_BLOBS_HEADER } from '../../core/inlined-blobs.ts';
import type { Content } from '../../store/store.ts';
import { REMOTE } from '../limits.ts';
import { authorization } from './authorization.ts';
import { InlinedBlobs } from './inlined-blobs.ts';
import {
  type KeepBlob,
  missingBlobFault,
  type OnBlobPresent,
  OUTCOME_HEADER,
  type ReadBlob,
  type Remote,
  RemoteFault,
  type RemoteOptions,
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
  readonly #headers: Record<string, string>;
  readonly #send: Send;
  readonly #destroy: () => Promise<void>;
  readonly #budget: WaitBudget;
  readonly #inlinedBlobs = new InlinedBlobs();
  #takesWrites = true;

  constructor({ url, token, now }: RemoteOptions, send: Send, destroy: () => Promise<void>) {
    this.#base = `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
    this.#headers = authorization(url, token);
    this.#send = send;
    this.#destroy = destroy;
    this.#budget = new WaitBudget(now);
  }

  get usable(): boolean {
    return !this.#budget.signal.aborted;
  }

  get takesWrites(): boolean {
    return this.#takesWrites;
  }

  giveUp(why: string): void {
    this.#budget.giveUp(why);
  }

  async getResult(key: Digest): Promise<Uint8Array | undefined> {
    return this.#attempt(async () => {
      const response = await this.#request('GET', `/ac/${key.hash}`, undefined, INLINE_REQUEST);
      const body = isMiss(response)
        ? undefined
        : this.#body(
            await expectSuccess(response),
            REMOTE.maxResultBytes + REMOTE.inlinedBlobsBytes,
            ({ length }) => this.#budget.received(length),
          );
      if (!body) return this.#discard(response);
      const chunks: Uint8Array[] = [];
      for await (const chunk of body) chunks.push(chunk);
      return this.#inlinedBlobs.receive(Buffer.concat(chunks));
    });
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
    const outcome = await this.#put(`/ac/${key.hash}`, result.length, result);
    return outcome === 'diverged' ? outcome : 'stored';
  }

  async close(): Promise<void> {
    await this.#destroy();
  }

  /** A server that keeps partial uploads does not get the same bytes twice, even from an earlier run. */
  async #putBlob(digest: Digest, read: ReadBlob): Promise<void> {
    if (digest.size <= REMOTE.resumeBytes)
      return void (await this.#put(`/cas/${digest.hash}`, digest.size, await read(digest, 0)));
    const { uploadResumably } = await import('./resumable.ts');
    await this.#upload(digest.size, () =>
      uploadResumably(digest, {
        read: async (offset) => this.#bodyOf(await read(digest, offset)),
        request: (method, path, headers, body) => this.#request(method, path, body, headers),
        isOver: () => !this.usable,
      }),
    );
  }

  #bodyOf(content: Content): Body {
    return content instanceof Uint8Array ? content : this.#stream(content);
  }

  async #getBlob(digest: Digest): Promise<AsyncIterable<Uint8Array> | undefined> {
    return this.#attempt(async () => {
      const response = await this.#request('GET', `/cas/${digest.hash}`);
      if (isMiss(response)) return this.#discard(response);
      return this.#guarded(
        this.#body(await expectSuccess(response), digest.size, () => this.#budget.moved()),
      );
    });
  }

  async #has(digest: Digest): Promise<boolean> {
    return this.#attempt(async () => {
      const response = await this.#request('HEAD', `/cas/${digest.hash}`);
      await this.#discard(response);
      if (isMiss(response)) return false;
      await expectSuccess(response);
      return true;
    });
  }

  /** Returns the outcome header of an Assay server. */
  #put(path: string, size: number, content: Content): Promise<unknown> {
    return this.#upload(size, async () => {
      const response = await this.#request('PUT', path, { size, body: this.#bodyOf(content) });
      await expectTaken(response);
      await this.#discard(response);
      return response.headers[OUTCOME_HEADER];
    });
  }

  async #request(
    method: RequestInit['method'],
    path: string,
    upload?: { size: number; body: Body },
    more: Record<string, string> = {},
  ): Promise<Response> {
    const length = upload && { 'content-length': String(upload.size) };
    const headers = { ...this.#headers, ...more, ...length };
    const response = await this.#send(this.#base + path, {
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

function isMiss(response: Response): boolean {
  return response.statusCode === 404 || response.statusCode === 204;
}
