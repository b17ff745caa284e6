// Five protocols as the races use them: an identity stores content under a key, and reads what it finds there.
import { digestOf, parseDigest } from '../../../core/digest.ts';
import { BatchReadBlobsResponse } from '../../../core/proto/generated/reapi-services.ts';
import { decodeResult } from '../../../core/result.ts';
import { only, type ReapiClient } from '../../server/protocols/reapi/rig.ts';
import { type Answer, ask, type Method } from '../../server/rig.ts';
import { resultNaming } from '../../store/content.ts';

/** One identity's clients. */
export interface Racer {
  readonly url: string;
  readonly token: string;
  readonly grpc: ReapiClient;
}

export interface RaceProtocol {
  /** Protocols with the same name for their keys find what the others have stored. */
  readonly keys: string;
  /** Rejects if the server did not take it. */
  put(racer: Racer, key: string, content: Buffer): Promise<void>;
  get(racer: Racer, key: string): Promise<Buffer | undefined>;
}

function send(racer: Racer, method: Method, path: string, body?: Buffer): Promise<Answer> {
  const headers = { authorization: `Bearer ${racer.token}` };
  return ask(racer.url + path, method, { headers, ...(body && { body }) });
}

async function put(racer: Racer, path: string, body: Buffer): Promise<void> {
  const { status, body: said } = await send(racer, 'PUT', path, body);
  if (status >= 300) throw new Error(`PUT ${path}: ${status} ${said}`);
}

async function get(racer: Racer, path: string): Promise<Buffer | undefined> {
  const { status, body } = await send(racer, 'GET', path);
  if (status === 200) return body;
  if (status === 404) return undefined;
  throw new Error(`GET ${path}: ${status} ${body}`);
}

function opaque(keys: string, pathOf: (key: string) => string): RaceProtocol {
  return {
    keys,
    put: (racer, key, content) => put(racer, pathOf(key), content),
    get: (racer, key) => get(racer, pathOf(key)),
  };
}

function outputOf(result: Buffer) {
  const digest = decodeResult(result).outputFiles[0]?.digest;
  if (!digest) throw new Error('the result has no output');
  return parseDigest(digest);
}

const overHttp: RaceProtocol = {
  keys: 'actions',
  async put(racer, key, content) {
    const digest = digestOf(content);
    await put(racer, `/cas/${digest.hash}`, content);
    await put(racer, `/ac/${key}`, resultNaming(digest));
  },
  async get(racer, key) {
    const result = await get(racer, `/ac/${key}`);
    return result && get(racer, `/cas/${outputOf(result).hash}`);
  },
};

const overGrpc: RaceProtocol = {
  keys: 'actions',
  async put({ grpc }, key, content) {
    const [digest] = await grpc.put(content);
    if (!digest) throw new Error('nothing was stored');
    const { status, message } = await grpc.updateResult(actionOf(key), resultNaming(digest));
    if (status !== 'OK') throw new Error(`${status}: ${message}`);
  },
  async get({ grpc }, key) {
    const { status, message, messages } = await grpc.getResult(actionOf(key));
    if (status === 'NOT_FOUND') return undefined;
    if (status !== 'OK') throw new Error(`${status}: ${message}`);
    const answer = await grpc.batchRead([outputOf(Buffer.concat(messages))]);
    return only(BatchReadBlobsResponse, answer).responses[0]?.data;
  },
};

/** The server looks at the hash of an action alone. */
function actionOf(key: string) {
  return parseDigest({ hash: key, sizeBytes: 1 });
}

/** A key is 64 hex digits. */
export const RACE_PROTOCOLS: readonly RaceProtocol[] = [
  overGrpc,
  overHttp,
  opaque('turbo', (key) => `/v8/artifacts/${key}?slug=team`),
  opaque('s3', (key) => `/s3/bucket/${key}`),
  opaque('ccache', (key) => `/ccache/${key.slice(0, 2)}/${key.slice(2)}`),
];
