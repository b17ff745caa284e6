// One request to the S3 server: it is signed, has a deadline, and is repeated if that is safe.
//
// A request is repeated after a connection that failed, a 5xx or a 429, or if the server got other bytes than were
// sent, and if its body can be sent again: no body,
// bytes in memory, or content of which nothing was read. It is not repeated after a silence: waiting again would
// double it. Every request here may be executed twice, because names of objects are never used twice; the one object that is
// overwritten expects it (ownership/ownership.ts).
import { createHash, type Hash as Hasher } from 'node:crypto';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Agent, Dispatcher, request as undiciRequest } from 'undici';
import { digestOf, type Hash } from '../../../../core/digest.ts';
import { AssayError } from '../../../../core/errors.ts';
import { Semaphore } from '../../../../store/shared/semaphore.ts';
import type { Credentials } from '../aws/credentials.ts';
import { type OnRenewal, RotatingCredentials } from '../aws/rotation.ts';
import { elementText } from '../aws/xml.ts';
import { Deadline, NoAnswer } from './deadline.ts';
import { S3 } from './limits.ts';
import type { ContentReader } from './outgoing.ts';
import { BucketRefusal, causeOf, isOfCredentials } from './refusals.ts';
import type { S3Settings } from './settings.ts';
import { Signer } from './signer.ts';

export interface S3Request {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** The name of an object, without the prefix. Undefined for a request about the bucket. */
  readonly name?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Bytes in memory, or exactly `size` bytes of content. */
  readonly body?: Uint8Array | { readonly content: ContentReader; readonly size: number };
  /** The SHA-256 of content. That of bytes in memory is computed here. */
  readonly sha256?: Hash | undefined;
  /** Sent over a connection of its own, which no other request has. */
  readonly isProbe?: boolean;
}

/** The server did what was asked. */
export interface S3Success {
  readonly ok: true;
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Must be read, or left before the first piece. */
  readonly body: AsyncGenerator<Buffer>;
  readonly leave: () => void;
}

/** The server said that it will not: a 4xx with S3's code, such as NoSuchKey. */
interface S3Refusal {
  readonly ok: false;
  readonly status: number;
  readonly code: string;
  /** What is wrong with the set-up, if that is why. */
  readonly cause: string | undefined;
}

type Attempt = S3Success | S3Refusal | { readonly retry: AssayError };

/** The times and the clock are arguments for the tests. */
export interface RequestOptions {
  readonly idleMs?: number;
  readonly answerMs?: number;
  readonly storedMs?: number;
  readonly now?: () => number;
  /** Told of every attempt: the method, the time until the answer begins, and whether it failed. */
  readonly onAnswer?: ((method: string, milliseconds: number, isFailure: boolean) => void) | undefined;
  readonly onRenewal?: OnRenewal | undefined;
}

export class Requests {
  readonly #settings: S3Settings;
  readonly #signer: Signer;
  readonly #credentials: RotatingCredentials;
  readonly #agent: Agent;
  readonly #probeAgent: Agent;
  readonly #request: typeof undiciRequest;
  readonly #options: RequestOptions;
  readonly #now: () => number;
  /** A request waits here, not in the agent, so that its deadline begins when it has a connection. */
  readonly #connections = new Semaphore({
    permits: S3.connections,
    maxWaiting: S3.maxWaiting,
    waitMs: S3.waitMs,
  });
  /** How far the server's clock is ahead. A signature holds for a quarter of an hour by that clock. */
  #clockOffsetMs = 0;

  /** undici is loaded here: only a server of a fleet needs it. */
  static async open(settings: S3Settings, options: RequestOptions = {}): Promise<Requests> {
    const { Agent, request } = await import('undici');
    const agentOf = (connections: number) =>
      new Agent({
        connections,
        pipelining: 1,
        connectTimeout: S3.connectMs,
        headersTimeout: 0,
        bodyTimeout: 0,
      });
    return new Requests(settings, agentOf, request, options);
  }

  private constructor(
    settings: S3Settings,
    agentOf: (connections: number) => Agent,
    request: typeof undiciRequest,
    options: RequestOptions,
  ) {
    this.#settings = settings;
    this.#signer = new Signer(settings);
    this.#credentials = new RotatingCredentials(settings.credentials, options.onRenewal);
    this.#agent = agentOf(S3.connections);
    this.#probeAgent = agentOf(1);
    this.#request = request;
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  /** How far this machine's clock is behind, by the answers until now. */
  get clockOffsetMs(): number {
    return this.#clockOffsetMs;
  }

  get prefix(): string {
    return this.#settings.prefix;
  }

  async send(request: S3Request, signal?: AbortSignal): Promise<S3Success | S3Refusal> {
    for (let attempt = 1; ; attempt++) {
      signal?.throwIfAborted();
      const answer = await this.#timed(request, signal);
      if (!('retry' in answer)) return answer;
      if (attempt === S3.attempts || !canRepeat(request)) throw answer.retry;
      // Half of the pause is random, so that nodes do not return at the same moment.
      const pauseMs = S3.pauseMs * 2 ** (attempt - 1);
      await sleep(pauseMs / 2 + (Math.random() * pauseMs) / 2, undefined, signal && { signal });
    }
  }

  /** As `send`, for a request that the server has no reason to refuse. */
  async expect(request: S3Request, signal?: AbortSignal): Promise<S3Success> {
    const answer = await this.send(request, signal);
    if (answer.ok) return answer;
    throw bucketRefused(request, answer);
  }

  /** As `expect`, with the whole answer as text. */
  async text(
    request: S3Request,
    signal?: AbortSignal,
  ): Promise<{ readonly xml: string; readonly time: number }> {
    const { body, headers } = await this.expect(request, signal);
    return { xml: await bodyText(body), time: Date.parse(headers.date ?? '') };
  }

  /** As `expect`, for an answer of which nothing is wanted. */
  async done(request: S3Request, signal?: AbortSignal): Promise<void> {
    await this.text(request, signal);
  }

  async close(): Promise<void> {
    await Promise.all([this.#agent.destroy(), this.#probeAgent.destroy()]);
  }

  async #timed(request: S3Request, signal: AbortSignal | undefined): Promise<Attempt> {
    const began = performance.now();
    let isFailure = true;
    try {
      const answer = await this.#attempt(request, signal);
      isFailure = 'retry' in answer;
      return answer;
    } finally {
      this.#options.onAnswer?.(request.method, performance.now() - began, isFailure);
    }
  }

  async #attempt(request: S3Request, signal: AbortSignal | undefined): Promise<Attempt> {
    const credentials = await this.#credentials.get();
    if (!request.isProbe) await this.#connections.acquire();
    const deadline = new Deadline(this.#timesOf(request), signal, () => {
      if (!request.isProbe) this.#connections.release();
    });
    // Content whose SHA-256 is not known before: S3's ETag is the MD5 of what arrived.
    const md5 = contentOf(request) && !request.sha256 ? createHash('md5') : undefined;
    try {
      const answer = await this.#dispatch(request, credentials, deadline, md5);
      if (answer.statusCode < 300 && isWhole(request)) {
        if (md5 && hasOtherBytes(singleValues(answer.headers), md5.digest('hex')))
          throw bucketAway(request, 'it has other bytes than were sent');
        deadline.pause();
        const body = readBody(request, answer.body, deadline, signal);
        return {
          ok: true,
          status: answer.statusCode,
          headers: singleValues(answer.headers),
          body,
          leave: () => deadline.end(),
        };
      }
      return await this.#unsuccessful(request, credentials, answer, deadline);
    } catch (error) {
      deadline.end();
      signal?.throwIfAborted();
      const { failure } = contentOf(request) ?? {};
      if (failure) throw failure.error;
      if (deadline.expired) throw silence(request, deadline);
      return { retry: error instanceof AssayError ? error : bucketAway(request, reasonOf(error)) };
    }
  }

  #timesOf({ method, name, query }: S3Request): { idleMs: number; answerMs: number } {
    const { idleMs = S3.idleMs, answerMs = S3.answerMs, storedMs = S3.storedMs } = this.#options;
    if (method === 'POST' && query?.uploadId !== undefined) return { idleMs, answerMs: S3.joinedMs };
    const isShort = name !== undefined && method !== 'PUT' && method !== 'POST';
    return { idleMs, answerMs: isShort ? answerMs : storedMs };
  }

  async #dispatch(
    request: S3Request,
    credentials: Credentials,
    deadline: Deadline,
    md5: Hasher | undefined,
  ): Promise<Dispatcher.ResponseData> {
    const { method, name, query = {}, headers, body } = request;
    const { endpoint, root, prefix } = this.#settings;
    const path = name === undefined ? root.slice(0, -1) || '/' : root + encodedPath(prefix + name);
    const search = encodedQuery(query);
    const sha256 = body instanceof Uint8Array ? digestOf(body).hash : request.sha256;
    const now = this.#now() + this.#clockOffsetMs;
    const signed = this.#signer.sign({ method, path, query: search, sha256 }, credentials, now);
    const url = `${endpoint.origin}${path}${search === '' ? '' : `?${search}`}`;
    const isStream = body !== undefined && !(body instanceof Uint8Array);
    const length = isStream ? { 'content-length': String(body.size) } : {};
    if (!isStream) deadline.sent();
    const answer = await this.#request(url, {
      method,
      headers: { ...headers, ...signed, ...length },
      body: isStream ? asBody(body.content.body(body.size, deadline, md5)) : (body ?? null),
      signal: deadline.signal,
      dispatcher: request.isProbe ? this.#probeAgent : this.#agent,
    });
    deadline.moved();
    return answer;
  }

  /** The rest of the request's body is not sent: the connection ends with the deadline. */
  async #unsuccessful(
    request: S3Request,
    credentials: Credentials,
    answer: Dispatcher.ResponseData,
    deadline: Deadline,
  ): Promise<Attempt> {
    const status = answer.statusCode;
    const xml = await bodyText(readBody(request, answer.body, deadline, undefined));
    const code = elementText(xml, 'Code') ?? (status === 404 ? 'NotFound' : `status ${status}`);
    const headers = singleValues(answer.headers);
    if (code === 'RequestTimeTooSkewed') {
      const time = Date.parse(headers.date ?? '');
      if (!Number.isNaN(time)) this.#clockOffsetMs = time - this.#now();
    }
    if (
      status < 300 ||
      (status >= 500 && status !== NOT_IMPLEMENTED) ||
      status === 429 ||
      REPEATABLE.has(code)
    )
      return { retry: bucketAway(request, `it answered ${status} ${code}`) };
    const refusal = { status, code, cause: causeOf({ status, code, headers, xml }, this.#settings) };
    if (isOfCredentials(code) && (await this.#credentials.replace(credentials)))
      return { retry: bucketRefused(request, { ok: false, ...refusal }) };
    return { ok: false, ...refusal };
  }
}

/** It will never do what was asked. */
const NOT_IMPLEMENTED = 501;

/** The clock of this side is wrong, or the body was changed on the way. */
const REPEATABLE: ReadonlySet<string> = new Set([
  'RequestTimeTooSkewed',
  'XAmzContentSHA256Mismatch',
  'BadDigest',
]);

/** undici takes iterables, which its types do not say. A Readable would ask for a piece before the last one is sent. */
function asBody(pieces: AsyncIterable<Uint8Array>): Readable {
  const body: unknown = pieces;
  return body as Readable;
}

function contentOf({ body }: S3Request): ContentReader | undefined {
  return body === undefined || body instanceof Uint8Array ? undefined : body.content;
}

function canRepeat(request: S3Request): boolean {
  return contentOf(request)?.hasBegun !== true;
}

/** A success before the whole body was sent is none. */
function isWhole(request: S3Request): boolean {
  return contentOf(request)?.isSent !== false;
}

/** False if the ETag is no MD5 of the content: some servers have another one, and so does content under KMS. */
function hasOtherBytes(headers: S3Success['headers'], md5: string): boolean {
  const etag = /^"?(?<md5>[0-9a-f]{32})"?$/.exec(headers.etag ?? '')?.groups?.md5;
  const isEncrypted =
    headers['x-amz-server-side-encryption']?.startsWith('aws:kms') ||
    headers['x-amz-server-side-encryption-customer-algorithm'] !== undefined;
  return etag !== undefined && !isEncrypted && etag !== md5;
}

/** The pieces of an answer. The deadline does not count the time in which the reader has a piece. */
async function* readBody(
  request: S3Request,
  body: Dispatcher.ResponseData['body'],
  deadline: Deadline,
  signal: AbortSignal | undefined,
): AsyncGenerator<Buffer> {
  deadline.moved();
  try {
    for await (const piece of body) {
      deadline.pause();
      yield piece;
      deadline.moved();
    }
    deadline.pause();
  } catch (error) {
    signal?.throwIfAborted();
    throw deadline.expired
      ? silence(request, deadline)
      : bucketAway(request, `its answer was cut: ${reasonOf(error)}`);
  } finally {
    deadline.end();
  }
}

export async function bodyText(body: AsyncIterable<Buffer>): Promise<string> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of body) {
    size += piece.length;
    if (size > S3.maxAnswerBytes) break;
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}

function singleValues(headers: Dispatcher.ResponseData['headers']): Record<string, string | undefined> {
  const values = Object.entries(headers).map(([name, value]) => [
    name,
    Array.isArray(value) ? value[0] : value,
  ]);
  return Object.fromEntries(values);
}

function encodedPath(path: string): string {
  return path.split('/').map(encoded).join('/');
}

/** Sorted by name, as the signature wants it. */
function encodedQuery(query: Readonly<Record<string, string>>): string {
  return Object.entries(query)
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .sort()
    .join('&');
}

/** S3 wants everything encoded but letters, digits and "-._~". */
function encoded(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** What went wrong, without the headers of the request: they hold the access key and a signature. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  if (!(error instanceof Error)) return 'unknown failure';
  return 'code' in error && typeof error.code === 'string'
    ? `${error.code}: ${error.message}`
    : error.message;
}

export function bucketRefused(request: S3Request, { status, code, cause }: S3Refusal): AssayError {
  const fault = bucketAway(request, `it answered ${status} ${code}`);
  return cause === undefined ? fault : new BucketRefusal(`${fault.detail}: ${cause}`);
}

function silence(request: S3Request, { expired, expiredMs }: Deadline): AssayError {
  const seconds = expiredMs / 1000;
  if (expired !== 'no answer') return bucketAway(request, `nothing moved for ${seconds} s`);
  return new NoAnswer(bucketAway(request, `no answer within ${seconds} s`).detail);
}

export function bucketAway({ method, name }: S3Request, reason: string): AssayError {
  return new AssayError('ASSAY_BUCKET_AWAY', `${method} ${name ?? 'of the bucket'}: ${reason}`);
}
