// The Remote Task Cache Protocol of mise, version 1, as a fastify plugin below /mise/v1/:
//
//   GET /capabilities, GET /status
//   POST /blobs:missing                             which of these blobs the server lacks
//   GET, PUT /blobs/ALGORITHM/HASH/SIZE             a blob
//   GET, PUT /action-results/blake3/HASH/SIZE       the result of an action, by the digest of its description
//
// A header names the namespace. Guarantee: statuses are those of mise's document, so a fault is never taken for a miss.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { concurrently } from '../../core/concurrently.ts';
import { AssayError } from '../../core/errors.ts';
import { type Namespace, parseRequestedNamespace } from '../../core/namespace.ts';
import { any, type Requirement } from '../../server/access/rights.ts';
import { onlyMethods } from '../../server/http/app.ts';
import { jsonErrors } from '../../server/http/error-response.ts';
import type { Exchange } from '../../server/http/exchange.ts';
import { answerJson, fieldOf, receiveJson } from '../../server/http/json.ts';
import { receiveWhole } from '../../server/http/upload.ts';
import { GET_ARTIFACT, PUT_ARTIFACT } from '../../server/protocols/shared/artifact-exchange.ts';
import { isCreateOnly, preconditionFailed } from '../../server/protocols/shared/conditions.ts';
import { answerMiseBlob, findBlob, takeBlob } from './blobs.ts';
import {
  ALGORITHMS,
  type DigestParams,
  type MiseDigest,
  parseDigestField,
  parseDigestParams,
} from './digest.ts';
import { MISE } from './limits.ts';
import { parseCommit } from './objects.ts';
import { commitResult, findCommit } from './results.ts';

const BASE = '/mise/v1';
const DIGEST = ':algorithm/:hash/:size';
const RESULT_TYPE = 'application/vnd.mise.cache-action-result.v1+json';
const MAJOR = '1';
/** Later versions of mise write "mbx" in the names of headers. */
const PREFIXES = ['mise', 'mbx'];

interface OfDigest {
  readonly Params: DigestParams;
}

type Answer = (exchange: Exchange, params: DigestParams) => Promise<void> | void;

export async function miseRoutes(app: FastifyInstance): Promise<void> {
  await app.register(async (scope) => {
    // A handler reads the body itself: a blob is no JSON, and may be large.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', async () => undefined);
    const config = (methods: string) => ({ route: 'mise', errors: jsonErrors(methods) }) as const;
    const add = (url: string, methods: Partial<Record<'GET' | 'PUT' | 'POST', [Requirement, Answer]>>) => {
      const names = Object.keys(methods).flatMap((name) => (name === 'GET' ? ['GET', 'HEAD'] : [name]));
      const options = { config: config(names.join(', ')) };
      onlyMethods(scope, `${BASE}${url}`, options, ...names);
      for (const [method, [requirement, answer]] of Object.entries(methods)) {
        const handler = handlerOf(requirement, answer);
        scope.route<OfDigest>({ ...options, method, url: `${BASE}${url}`, handler });
      }
    };
    const reading = any('results:read', 'results:write');
    add('/capabilities', { GET: [reading, answerCapabilities] });
    add('/status', { GET: [reading, (exchange) => answerJson(exchange, { status: 'ok' })] });
    add('/blobs::missing', { POST: [reading, answerMissing] });
    add(`/blobs/${DIGEST}`, { GET: [GET_ARTIFACT, answerBlob], PUT: [PUT_ARTIFACT, answerPutBlob] });
    add(`/action-results/${DIGEST}`, {
      GET: [GET_ARTIFACT, answerResult],
      PUT: [PUT_ARTIFACT, answerCommit],
    });
  });
}

function handlerOf(requirement: Requirement, answer: Answer) {
  return async ({ exchange, params }: FastifyRequest<OfDigest>, reply: FastifyReply): Promise<void> => {
    exchange.require(requirement);
    const version = headerOf(exchange, 'protocol') ?? MAJOR;
    reply.hijack();
    try {
      if (version === MAJOR) await answer(exchange, params);
      else exchange.answerError(otherVersion(version), ['mise-cache-protocol', MAJOR], 426);
    } catch (error) {
      exchange.answerError(error);
    }
  };
}

function answerCapabilities(exchange: Exchange): void {
  const task = { action_schema: 1, metadata_schema: 1 };
  answerJson(exchange, {
    protocol: { major: 1, minor: 0 },
    digest_algorithms: ALGORITHMS,
    compressors: ['identity'],
    action_kinds: { task },
    features: { batch: true, blob_packs: false, resumable_uploads: false, delegated_transfers: false },
    limits: { max_batch_items: MISE.maxBatchItems, max_blob_bytes: exchange.server.limits.maxBlobBytes },
  });
}

async function answerMissing(exchange: Exchange): Promise<void> {
  const namespace = namespaceOf(exchange);
  const list = fieldOf(await receiveJson(exchange), 'digests');
  if (!Array.isArray(list) || list.length > MISE.maxBatchItems)
    throw new AssayError('ASSAY_BAD_MESSAGE', `digests is a list of at most ${MISE.maxBatchItems}`);
  const digests = list.map(parseDigestField);
  const found = new Set<MiseDigest>();
  await concurrently(digests, MISE.concurrentLookups, async (digest) => {
    if (await findBlob(exchange, namespace, digest)) found.add(digest);
  });
  answerJson(exchange, { missing: digests.filter((digest) => !found.has(digest)) });
}

function answerBlob(exchange: Exchange, params: DigestParams): Promise<void> {
  return answerMiseBlob(exchange, namespaceOf(exchange), parseDigestParams(params));
}

async function answerPutBlob(exchange: Exchange, params: DigestParams): Promise<void> {
  const namespace = namespaceOf(exchange);
  const digest = parseDigestParams(params);
  if (!isCreateOnly(exchange)) throw preconditionFailed();
  answerCreated(exchange, await takeBlob(exchange, namespace, digest));
}

async function answerResult(exchange: Exchange, params: DigestParams): Promise<void> {
  const text = await findCommit(exchange, namespaceOf(exchange), actionOf(params));
  if (text === undefined) return exchange.answerMiss();
  exchange.answerContent(200, ['content-type', RESULT_TYPE, 'cache-control', 'no-cache'], Buffer.from(text));
}

async function answerCommit(exchange: Exchange, params: DigestParams): Promise<void> {
  const namespace = namespaceOf(exchange);
  const action = actionOf(params);
  if (!isCreateOnly(exchange)) throw preconditionFailed();
  const commit = parseCommit(await receiveWhole(exchange, MISE.maxResultBytes));
  try {
    answerCreated(exchange, await commitResult(exchange, namespace, action, commit));
  } catch (error) {
    const isOfGraph =
      error instanceof AssayError && ['ASSAY_RESULT_INCOMPLETE', 'ASSAY_BAD_MESSAGE'].includes(error.code);
    exchange.answerError(error, [], isOfGraph ? 422 : undefined);
  }
}

function answerCreated(exchange: Exchange, outcome: 'stored' | 'present'): void {
  exchange.begin(outcome === 'stored' ? 201 : 204, outcome === 'stored' ? ['content-length', '0'] : []);
  exchange.end();
}

function actionOf(params: DigestParams): MiseDigest {
  const action = parseDigestParams(params);
  if (action.algorithm === 'blake3') return action;
  throw new AssayError('ASSAY_BAD_MESSAGE', 'the digest of an action is a BLAKE3');
}

function namespaceOf(exchange: Exchange): Namespace {
  const text = headerOf(exchange, 'namespace');
  if (text) return parseRequestedNamespace(text);
  throw new AssayError('ASSAY_BAD_NAMESPACE', 'the header mise-cache-namespace is missing');
}

function headerOf({ headers }: Exchange, name: string): string | undefined {
  const found = PREFIXES.map((prefix) => headers[`${prefix}-cache-${name}`]).find(
    (value) => value !== undefined,
  );
  return found === undefined ? undefined : String(found);
}

function otherVersion(version: string): AssayError {
  return new AssayError('ASSAY_UNSUPPORTED', `version ${version.slice(0, 20)} of mise’s cache protocol`);
}
