// One client for each protocol of tools with opaque keys: uploads, and asks for the upload again.
import { createHash } from 'node:crypto';
import { type Dispatcher, request } from 'undici';
import { decodePathSet, encodePathSet } from '../../core/path-set.ts';
import { ListPathSetsResponse } from '../../core/proto/generated/assay.ts';
import { filesOfWings } from '../rig/wings.ts';
import { PLAIN } from '../server/protocols/plain.ts';

export interface ProtocolClient {
  readonly name: string;
  /** True if the server acknowledged all of it. */
  upload(key: string, content: Buffer): Promise<boolean>;
  /** Undefined for a miss. Throws if two ways of asking disagree. */
  find(key: string, content: Buffer): Promise<Buffer | undefined>;
}

export interface Answer {
  readonly status: number;
  readonly body: Buffer;
  readonly offset: number;
}

export type Ask = (
  method: 'GET' | 'HEAD' | 'PUT' | 'PATCH' | 'POST',
  address: string,
  body?: Buffer | string | null,
  headers?: Record<string, string>,
) => Promise<Answer>;

/** A wing has the client of its own protocol in test/protocol-client.ts. */
const ofWings: readonly ((ask: Ask) => ProtocolClient)[] = await Promise.all(
  filesOfWings('test/protocol-client.ts').map(async (file) => {
    const { protocolClient }: { protocolClient: (ask: Ask) => ProtocolClient } = await import(file);
    return protocolClient;
  }),
);

/** `key`: 64 hex digits. */
export function protocolClients(url: string, dispatcher: Dispatcher): ProtocolClient[] {
  const ask: Ask = async (method, address, body = null, headers = {}) => {
    const answer = await request(new URL(address, url), { method, body, headers, dispatcher });
    return {
      status: answer.statusCode,
      body: Buffer.from(await answer.body.arrayBuffer()),
      offset: Number(answer.headers['upload-offset'] ?? 0),
    };
  };

  const read = async (path: string): Promise<Buffer | undefined> => {
    const got = await ask('GET', path);
    const head = await ask('HEAD', path);
    if (head.status !== got.status) throw new Error(`${path}: HEAD ${head.status}, GET ${got.status}`);
    if (got.status === 404) return undefined;
    if (got.status !== 200) throw new Error(`${path}: ${got.status}`);
    return got.body;
  };

  const plain = (name: string, pathOf: (key: string) => string): ProtocolClient => ({
    name,
    upload: async (key, content) => (await ask('PUT', pathOf(key), content)).status < 300,
    find: (key) => read(pathOf(key)),
  });

  const blockPath = (key: string) => `/azure/team/${key}`;
  const blocks: ProtocolClient = {
    name: 'azure blocks',
    async upload(key, content) {
      const middle = Math.ceil(content.length / 2);
      const parts = [content.subarray(0, middle), content.subarray(middle)];
      for (const [number, part] of parts.entries()) {
        const { status } = await ask('PUT', `${blockPath(key)}?comp=block&blockid=YmxvY2st${number}`, part);
        if (status !== 201) return false;
      }
      const list = '<BlockList><Latest>YmxvY2st0</Latest><Latest>YmxvY2st1</Latest></BlockList>';
      return (await ask('PUT', `${blockPath(key)}?comp=blocklist`, list)).status === 201;
    },
    find: (key) => read(blockPath(key)),
  };

  const twirp = async (method: string, message: object): Promise<Record<string, unknown>> => {
    const path = `/twirp/github.actions.results.api.v1.CacheService/${method}`;
    const json = { 'content-type': 'application/json' };
    return JSON.parse((await ask('POST', path, JSON.stringify(message), json)).body.toString());
  };
  const actions: ProtocolClient = {
    name: 'actions',
    async upload(key, content) {
      const entry = { key, version: 'v' };
      const { signed_upload_url: address } = await twirp('CreateCacheEntry', entry);
      const { status } = await ask('PUT', String(address), content, { 'x-ms-blob-type': 'BlockBlob' });
      if (status !== 201) return false;
      const size = String(content.length);
      return (await twirp('FinalizeCacheEntryUpload', { ...entry, size_bytes: size })).ok === true;
    },
    async find(key) {
      const { ok, signed_download_url: address } = await twirp('GetCacheEntryDownloadURL', {
        key,
        version: 'v',
      });
      if (!ok) return undefined;
      const { status, body } = await ask('GET', String(address));
      if (status !== 200) throw new Error(`actions found ${key}, and answered ${status} for it`);
      return body;
    },
  };

  const patch = (hash: string, content: Buffer, from: number, to: number) =>
    ask('PATCH', `/uploads/${hash}`, content.subarray(from, to), {
      'upload-offset': String(from),
      'upload-complete': to === content.length ? '?1' : '?0',
      'content-type': 'application/partial-upload',
    });
  const resumable: ProtocolClient = {
    name: 'resumable',
    async upload(_key, content) {
      const hash = sha256(content);
      const middle = Math.ceil(content.length / 2);
      const begun = await ask('PUT', `/cas/${hash}`, content.subarray(0, middle), {
        'upload-complete': '?0',
      });
      if (begun.status !== 201) return false;
      return (await patch(hash, content, middle, content.length)).status === 200;
    },
    /** An interrupted upload continues where the server says, and is complete then. */
    async find(_key, content) {
      const hash = sha256(content);
      const { status, offset } = await ask('HEAD', `/uploads/${hash}`);
      const isUnderWay = status === 204 && offset < content.length;
      const before = await read(`/cas/${hash}`);
      if (!isUnderWay) return before;
      if (before) throw new Error(`${hash} is there before its upload is whole`);
      const last = await patch(hash, content, offset, content.length);
      if (last.status !== 200) throw new Error(`${hash} did not go on from ${offset}: ${last.status}`);
      return read(`/cas/${hash}`);
    },
  };

  const pathSets: ProtocolClient = {
    name: 'path-sets',
    async upload(key, content) {
      const set = pathSetWith(content);
      const stored = await ask('PUT', `/cas/${sha256(set)}`, set);
      return (
        stored.status < 300 &&
        (await ask('PUT', `/path-sets/v1/team/${key}?set=${sha256(set)}`)).status === 200
      );
    },
    async find(key) {
      const { status, body } = await ask('GET', `/path-sets/v1/team/${key}`);
      if (status !== 200) throw new Error(`the list of ${key}: ${status}`);
      const [first] = ListPathSetsResponse.decode(body).sets;
      return first && Buffer.from(decodePathSet(first)[0]?.state ?? '', 'latin1');
    },
  };

  return [
    pathSets,
    plain('turbo', (key) => `/v8/artifacts/${key}?slug=team`),
    ...PLAIN.map(({ name, pathsOf }) => plain(name, (key) => pathsOf(key)[0])),
    plain('webdav', (key) => `/webdav/team/${key}`),
    plain('s3', (key) => `/s3/bucket/${key}`),
    blocks,
    actions,
    resumable,
    ...ofWings.map((client) => client(ask)),
  ];
}

function pathSetWith(content: Buffer): Buffer {
  const state = content.toString('latin1');
  const set = [
    { root: '', path: 'a', names: false, state, left: '', without: [], lens: '', shown: [], note: '' },
  ];
  return Buffer.from(encodePathSet(set));
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
