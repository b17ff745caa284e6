// A server on a disk store with all identities of the attack, and in it what main has stored.
import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { onTestFinished } from 'vitest';
import { ACTION_LEASES_SERVICE } from '../../../core/action-lease.ts';
import { ERRORS } from '../../../core/errors.ts';
import type { Identity, IdentitySource } from '../../../server/access/identity.ts';
import { isWrite, RIGHTS } from '../../../server/access/rights.ts';
import type { OnStoreEvent } from '../../../store/events.ts';
import type { Store } from '../../../store/store.ts';
import { GrpcClient } from '../../rig/grpc.ts';
import { openDiskFolder } from '../../rig/stores/disk-store.ts';
import { serverParts } from '../../rig/wings.ts';
import {
  identity,
  MAIN,
  OTHER,
  PULL,
  READER,
  SIBLING,
  sourceOf,
  WRITER,
} from '../../server/access/identities.ts';
import { signedForS3 } from '../../server/protocols/s3-signer.ts';
import { testServer } from '../../server/rig.ts';
import { BLOBS, contentBy, DIGESTS, KEY, resultBy } from './content.ts';
import { GRPC_EXAMPLES } from './grpc-examples.ts';
import { HTTP_EXAMPLES, type HttpExample } from './http-examples.ts';
import { type Change, journaled } from './journal.ts';
import { type Address, GRPC, httpAddresses } from './surface.ts';

export interface Reply {
  /** The request: its address, the example and the method. */
  readonly to: string;
  /** Of HTTP, or the name of gRPC's. */
  readonly status: string;
  /** Head and body, in one text. Without the time, and without what is random. */
  readonly text: string;
  /** The same with all bytes. */
  readonly bytes: Buffer;
}

export interface HttpRequest {
  readonly address: Address;
  readonly example: HttpExample;
  readonly method: string;
}

/** What a tenant can be given. */
const EVERY_RIGHT = RIGHTS.filter((right) => right !== 'server:stats').join();
const EXPIRED = identity('expired', { namespace: 'acme/app/main', expiresAt: 1 });
const REVOKED = identity('revoked', { namespace: 'acme/app/main' });
/** Each may forget and list what is in its own namespace. */
const ADMINS = [
  identity('pull-admin', { namespace: 'acme/app/pr/1', reads: ['acme/app/main'], rights: EVERY_RIGHT }),
  identity('other-admin', { namespace: 'rival', rights: EVERY_RIGHT }),
];
/** Another tenant's, one for each right that shows something. */
const VIEWERS = ['read', 'stats', 'overview', 'admin'].map((rights) =>
  identity(`viewer-${rights}`, { namespace: 'rival', rights }),
);
export const VIEWER_NAMES: readonly string[] = [...VIEWERS, ...ADMINS.slice(1)].map(({ name }) => name);
/** With this name, a request has no credential. */
export const ANONYMOUS = 'anonymous';

/** The answers to a URL with a wrong signature, and to one whose token has ended. */
export const UNSIGNED = [ERRORS.ASSAY_BAD_TICKET, ERRORS.ASSAY_UNAUTHORIZED].map(({ status }) =>
  String(status),
);

/** The names are the tokens. `revoked` holds those that are valid no longer. */
function revocable(revoked: ReadonlySet<string>): IdentitySource {
  const all = sourceOf(MAIN, PULL, SIBLING, READER, WRITER, OTHER, EXPIRED, REVOKED, ...ADMINS, ...VIEWERS);
  const valid = <T>(name: string, found: T | undefined) => (revoked.has(name) ? undefined : found);
  return {
    identify: (token) => valid<Identity>(token, all.identify(token)),
    identifyAccessKey: (key) => valid(key, all.identifyAccessKey?.(key)),
    listed: () => [MAIN, PULL, ...ADMINS, ...VIEWERS],
  };
}

/** The same for every server: answers contain it. */
const HOST = 'assay.test';
const SERVICE = 'twirp/github.actions.results.api.v1.CacheService';

const USED_METHODS = ['GET', 'HEAD', 'PUT', 'POST', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'MKCOL'];

export class World {
  readonly store: Store;
  /** Since `forget`. */
  readonly changes: Change[];
  readonly addresses: readonly Address[];
  readonly port: number;
  readonly #grpc: GrpcClient;
  readonly #agent: Agent;
  readonly #revoked: Set<string>;
  readonly #signedUrls = new Map<string, string>();

  private constructor(
    parts: Pick<World, 'store' | 'changes' | 'addresses' | 'port'> & {
      readonly grpc: GrpcClient;
      readonly agent: Agent;
      readonly revoked: Set<string>;
    },
  ) {
    this.store = parts.store;
    this.changes = parts.changes;
    this.addresses = parts.addresses;
    this.port = parts.port;
    this.#grpc = parts.grpc;
    this.#agent = parts.agent;
    this.#revoked = parts.revoked;
  }

  static async open(openStore: (onEvent: OnStoreEvent) => Promise<Store> = openDiskFolder): Promise<World> {
    const changes: Change[] = [];
    const revoked = new Set<string>();
    const { store, port, url } = await testServer({
      store: async (onEvent) => journaled(await openStore(onEvent), changes),
      identities: revocable(revoked),
      storeFolder: '/the/folder/of/the/store',
      space: { used: () => 987_654_321, limit: 1_000_000_000 },
      wings: await serverParts(),
    });
    const grpc = await GrpcClient.to(url);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => {
      grpc.close();
      agent.destroy();
    });
    return new World({ store, changes, addresses: await httpAddresses(), port, grpc, agent, revoked });
  }

  revoke(name: string): void {
    this.#revoked.add(name);
  }

  /** Main stores what the examples name. */
  async prepare(): Promise<this> {
    for (const [name, bytes] of Object.entries(BLOBS)) {
      const { hash } = DIGESTS[name as keyof typeof BLOBS];
      await this.#expectStored(
        await this.#sendAs('main', 'PUT', { path: `/cas/${hash}`, body: () => bytes }),
      );
    }
    for (const prefix of ['', '/web', '/some/team'])
      await this.#expectStored(
        await this.#sendAs('main', 'PUT', { path: `${prefix}/ac/${KEY.hash}`, body: resultBy }),
      );
    for (const example of Object.values(HTTP_EXAMPLES).flat())
      if (example.storedBy) await this.#expectStored(await this.#sendAs('main', example.storedBy, example));
    for (const base of ['/actions/team/', '/']) await this.#saveEntry(base);
    for (const path of this.writingMethods()) await this.callsOf(path, 'main');
    return this;
  }

  /** The gRPC methods that write. */
  writingMethods(): string[] {
    return [...GRPC].flatMap(([path, { needs }]) => (isWrite(needs) ? [path] : []));
  }

  async #expectStored({ to, status, text }: Reply): Promise<void> {
    if (!/^2\d\d$/.test(status)) throw new Error(`main could not store: ${to}: ${status} ${text}`);
  }

  async #saveEntry(base: string): Promise<void> {
    const content = contentBy('main', 'an artifact');
    const entry = { key: 'deps-1', version: 'v' };
    const { signed_upload_url: url } = await this.#twirp('main', base, 'CreateCacheEntry', entry);
    const path = pathOf(url);
    await this.#expectStored(
      await this.#sendAs('main', 'PUT', {
        path,
        body: () => content,
        headers: { 'x-ms-blob-type': 'BlockBlob' },
      }),
    );
    const { ok } = await this.#twirp('main', base, 'FinalizeCacheEntryUpload', {
      ...entry,
      size_bytes: String(content.length),
    });
    if (ok !== true) throw new Error('main could not save an entry');
  }

  async #twirp(name: string, base: string, call: string, message: object): Promise<Record<string, unknown>> {
    const { bytes } = await this.#sendAs(name, 'POST', {
      path: `${base}${SERVICE}/${call}`,
      headers: { 'content-type': 'application/json' },
      body: () => JSON.stringify(message),
    });
    const body = bytes.subarray(bytes.indexOf('\n\n') + 2).toString();
    return JSON.parse(body);
  }

  /**
   * Every example of every address, with every method that the address could get. Methods that no protocol has
   * come with the first example alone.
   */
  requests(methods?: readonly string[]): HttpRequest[] {
    return this.addresses.flatMap((address) =>
      (HTTP_EXAMPLES[address.name] ?? []).flatMap((example, index) =>
        address.methods
          .filter((method) => methods?.includes(method) ?? (index === 0 || USED_METHODS.includes(method)))
          .map((method) => ({ address, example, method })),
      ),
    );
  }

  async send(name: string, { example, method }: HttpRequest): Promise<Reply> {
    return this.#sendAs(name, method, example);
  }

  /** The head of the request, for a body of which only the announced size is known. */
  async head(name: string, { example, method }: HttpRequest, announced: number): Promise<string> {
    const { path, headers } = await this.#withCredential(name, method, example);
    const all = { host: HOST, ...example.headers, ...headers, 'content-length': String(announced) };
    const lines = Object.entries(all).map(([header, value]) => `${header}: ${value}`);
    return [`${method} ${path} HTTP/1.1`, ...lines, '', ''].join('\r\n');
  }

  /** The calls of one method, or of all of them. */
  async callsOf(path: string, name: string): Promise<Reply[]> {
    const replies: Reply[] = [];
    for (const [index, messages] of (GRPC_EXAMPLES[path]?.(name) ?? []).entries()) {
      const call = this.#grpc.open(path, name === ANONYMOUS ? {} : { authorization: `Bearer ${name}` });
      for (const message of messages) await call.send(message);
      call.end();
      const { status, message, messages: answers, headers } = await call.answer();
      const bytes = Buffer.concat([Buffer.from(`${message}\n${headText(headers)}\n`), ...answers]);
      const text = path.startsWith(LIVE_SERVICE) ? '' : steady(bytes);
      replies.push({ to: `${path} ${index}`, status, bytes, text });
    }
    return replies;
  }

  /** All that this identity can send. */
  async sendEverything(name: string): Promise<Reply[]> {
    const replies: Reply[] = [];
    for (const request of this.requests()) replies.push(await this.send(name, request));
    for (const path of GRPC.keys()) replies.push(...(await this.callsOf(path, name)));
    return replies;
  }

  /** The requests that change nothing. */
  async readEverything(name: string): Promise<Reply[]> {
    const replies: Reply[] = [];
    for (const request of this.requests(['GET', 'HEAD'])) replies.push(await this.send(name, request));
    const writing = new Set(this.writingMethods());
    for (const path of GRPC.keys()) if (!writing.has(path)) replies.push(...(await this.callsOf(path, name)));
    return replies;
  }

  async #sendAs(name: string, method: string, example: HttpExample): Promise<Reply> {
    const { path, headers } = await this.#withCredential(name, method, example);
    const body =
      method === 'GET' || method === 'HEAD'
        ? undefined
        : Buffer.from(example.body?.(name) ?? contentBy(name, 'an artifact'));
    const to = `${method} ${example.path} ${JSON.stringify(example.headers ?? {})}`;
    const answer = await this.#exchange(method, path, { ...example.headers, ...headers }, body);
    const bytes = Buffer.concat([Buffer.from(`${headText(answer.headers)}\n\n`), answer.body]);
    return { to, status: String(answer.status), bytes, text: example.isLive ? '' : steady(bytes) };
  }

  async #withCredential(
    name: string,
    method: string,
    { path, credential = 'header' }: HttpExample,
  ): Promise<{ path: string; headers: Record<string, string> }> {
    if (credential === 'signed-url') return { path: await this.#signedUrl(name, path), headers: {} };
    if (credential === 'signature')
      return {
        path,
        headers: signedForS3(method, `http://${HOST}${path}`, {
          keys: { accessKey: name, secretKey: `secret-of-${name}` },
        }),
      };
    if (name === ANONYMOUS) return { path, headers: {} };
    if (credential === 'bare') return { path, headers: { authorization: name } };
    if (credential === 'query') return { path: `${path}?sig=${name}`, headers: {} };
    return { path, headers: { authorization: `Bearer ${name}` } };
  }

  /** One that this identity asked for. If it gets none, one that it made up. */
  async #signedUrl(name: string, kind: string): Promise<string> {
    const known = this.#signedUrls.get(`${name} ${kind}`);
    if (known !== undefined) return known;
    const call = kind === 'upload' ? 'CreateCacheEntry' : 'GetCacheEntryDownloadURL';
    const entry = { key: kind === 'upload' ? 'deps-up' : 'deps-1', version: 'v' };
    const answer = await this.#twirp(name, '/actions/team/', call, entry);
    const url = answer.signed_upload_url || answer.signed_download_url;
    const path = url ? pathOf(url) : String(MADE_UP[kind]);
    this.#signedUrls.set(`${name} ${kind}`, path);
    return path;
  }

  #exchange(
    method: string,
    path: string,
    headers: Readonly<Record<string, string>>,
    body: Buffer | undefined,
  ): Promise<{ status: number; headers: IncomingHttpHeaders; body: Buffer }> {
    return new Promise((resolve, reject) => {
      const length = body === undefined ? {} : { 'content-length': String(body.length) };
      const request = httpRequest(
        {
          port: this.port,
          host: '127.0.0.1',
          agent: this.#agent,
          method,
          path,
          headers: { host: HOST, ...headers, ...length },
        },
        (response) => {
          const pieces: Buffer[] = [];
          response.on('data', (piece: Buffer) => pieces.push(piece));
          response.on('error', reject);
          response.on('end', () =>
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              body: Buffer.concat(pieces),
            }),
          );
        },
      );
      request.on('error', (error) => reject(new Error(`${method} ${path}`, { cause: error })));
      request.end(body);
    });
  }

  /** Every result with its writer, every report, and every blob. */
  async dump(namespace?: string): Promise<string[]> {
    const found: string[] = [];
    for await (const { address, result, isRival } of this.store.review?.results() ?? []) {
      if (namespace !== undefined && !isWithin(address.namespace, namespace)) continue;
      const { bytes, writer } = result;
      found.push(JSON.stringify([address, isRival, bytes.toString('hex'), writer]));
    }
    for (const kind of ['run-details', 'misses', 'step', 'step-unkept']) {
      const page = await this.store.history?.page({ kind, limit: 1000 });
      for (const { namespace: filed, id, at, bytes } of page?.documents ?? [])
        if (namespace === undefined || filed === namespace)
          found.push(JSON.stringify([kind, filed, id, at, bytes.toString('hex')]));
    }
    const inspection = namespace === undefined ? await this.store.inspect?.() : undefined;
    const blobs = inspection ? await inspection.blobsAfter(undefined) : [];
    return [...found.sort(), ...blobs.map(({ hash }) => hash)];
  }
}

/** True for the namespace itself, what is below it, and the same of a protocol. */
export function isWithin(namespace: string, base: string): boolean {
  const path = namespace.startsWith('~') ? namespace.slice(namespace.indexOf('/') + 1) : namespace;
  return path === base || path.startsWith(`${base}/=/`);
}

const MADE_UP: Readonly<Record<string, string>> = {
  download: `/actions/download/${DIGESTS.small.hash}/none/9999999999999?sig=${'0'.repeat(64)}`,
  upload: `/actions/upload/${'0'.repeat(64)}/${'0'.repeat(32)}/none/9999999999999?sig=${'0'.repeat(64)}`,
};

function pathOf(url: unknown): string {
  return new URL(String(url)).href.replace(/^https?:\/\/[^/]+/, '');
}

function headText({ date: _date, ...headers }: IncomingHttpHeaders): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')
    .replace(/^(x-ms-request-id: )[\da-f-]{36}$/m, '$1ID');
}

/** Its answers have times and numbers that no two servers share. Only their status and their marks are compared. */
const LIVE_SERVICE = `/${ACTION_LEASES_SERVICE}/`;

/** Without what differs between two servers that answer the same. */
function steady(bytes: Buffer): string {
  return bytes
    .toString('latin1')
    .replace(/(upload\/[0-9a-f]{64}\/)[0-9a-f]{32}/, '$1ID')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, 'TIME')
    .replace(/assay-session=[\w-]+; Path=\/; Max-Age=\d+/, 'assay-session=SEALED')
    .replace(/\/[0-9a-f]+\/\d{13}\?sig=[0-9a-f]{64}/, '/CREDENTIAL/TIME?sig=SIG');
}
