// Valid HTTP requests for each address of the server. The keys are those that main has stored.
// The matrix sends each of them with every method, and fails for an address that has none.
import { digestOf } from '../../../core/digest.ts';
import { appendBlobs, type InlinedBlob } from '../../../core/inlined-blobs.ts';
import { PATH_SETS_PATH } from '../../../core/path-set.ts';
import { FindResultRequest } from '../../../core/proto/generated/assay.ts';
import { MOUNTS } from '../../../server/adapters.ts';
import { filesOfWings } from '../../rig/wings.ts';
import { PLAIN } from '../../server/protocols/plain.ts';
import { contentBy, DIGESTS, KEY, PREDICTED, resultBy } from './content.ts';

export interface HttpExample {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** What this identity sends. By default, content with its mark. */
  readonly body?: (identity: string) => string | Buffer;
  /** Where the credential is. By default, in the header Authorization. */
  readonly credential?: 'header' | 'bare' | 'query' | 'signature' | 'signed-url';
  /** The method by which main stores what the address names. */
  readonly storedBy?: 'PUT' | 'POST';
  /** Its answer counts or lists requests, so that no two are the same. Only its status and its marks are compared. */
  readonly isLive?: true;
}

const BROWSER = { accept: 'text/html' };
const FORM_TYPE = { 'content-type': 'application/x-www-form-urlencoded' };
const JSON_TYPE = { 'content-type': 'application/json' };
const LABEL = 'a-label';
const HASH = 'abcdef0123456789';

const find = FindResultRequest.encode({
  instanceName: '',
  key: '',
  candidates: [{ set: Buffer.alloc(8), result: Buffer.from(KEY.hash, 'hex') }],
  inlinedBytes: 100_000,
  afterPrediction: false,
  step: Buffer.alloc(16, 7),
}).finish();
const FIND = Buffer.from(find).toString('base64url');

/** The key of a result that comes in one request with its blobs. */
const PUBLISHED = digestOf(Buffer.from('the key of a published result'));

function blobBy(identity: string): InlinedBlob {
  const bytes = contentBy(identity, 'a published blob');
  return { hash: digestOf(bytes).hash, bytes };
}

const artifact = (path: string, more: Partial<HttpExample> = {}): HttpExample => ({
  path,
  storedBy: 'PUT',
  ...more,
});

const SERVICE = 'twirp/github.actions.results.api.v1.CacheService';

function cacheService(base: string): HttpExample[] {
  const entry = { key: 'deps-1', version: 'v' };
  const call = (name: string, message: object): HttpExample => ({
    path: `${base}${SERVICE}/${name}`,
    headers: JSON_TYPE,
    body: () => JSON.stringify(message),
  });
  return [
    call('GetCacheEntryDownloadURL', { ...entry, restore_keys: ['deps-'] }),
    call('CreateCacheEntry', { ...entry, key: 'deps-2' }),
    call('FinalizeCacheEntryUpload', {
      ...entry,
      size_bytes: String(contentBy('main', 'an artifact').length),
    }),
  ];
}

function turboApi(base: string): Readonly<Record<string, readonly HttpExample[]>> {
  const url = base.replace(':namespace', 'web');
  const example = (path: string, body: object): readonly HttpExample[] => [
    { path, headers: JSON_TYPE, body: () => JSON.stringify(body) },
  ];
  return {
    [`fastify ${base}`]: example(`${url}?slug=team`, { hashes: [HASH] }),
    [`fastify ${base}/status`]: example(`${url}/status`, {}),
    [`fastify ${base}/events`]: example(`${url}/events`, [{ sessionId: '1', event: 'HIT' }]),
  };
}

function labels(path: string): readonly HttpExample[] {
  return [
    artifact(`${path}?exact=${LABEL}&prefix=a-&label=${LABEL}&key=${KEY.hash}`, { body: () => '' }),
    { path: `${path}?prefix=&label=another-label&key=${KEY.hash}`, body: () => '' },
    { path: `${path}?all=&label=third-label&key=${KEY.hash}`, body: () => '' },
  ];
}

/** Of the protocols in one table, by the prefix of their addresses. */
const OF_PLAIN = Map.groupBy(
  PLAIN.flatMap(({ pathsOf }) => pathsOf(KEY.hash)).map((path) => artifact(path)),
  ({ path }) => MOUNTS.find(({ prefix }) => path.startsWith(prefix))?.prefix ?? path,
);

/** By the names in surface.ts. */
const OF_TRUNK: Readonly<Record<string, readonly HttpExample[]>> = {
  ...Object.fromEntries(OF_PLAIN),
  '/turbo/': [artifact(`/turbo/team/v8/artifacts/${HASH}`)],
  '/v8/artifacts': [artifact(`/v8/artifacts/${HASH}?slug=team`, { headers: { 'x-artifact-tag': 'tag' } })],
  '/rush/': [...(OF_PLAIN.get('/rush/') ?? []), artifact('/rush/pkg-build-2', { credential: 'bare' })],
  '/actions/': [
    ...cacheService('/actions/team/'),
    { path: 'download', credential: 'signed-url' },
    { path: 'upload', credential: 'signed-url', headers: { 'x-ms-blob-type': 'BlockBlob' } },
  ],
  '/twirp/': cacheService('/'),
  '/azure/': [
    artifact('/azure/team/a-blob'),
    artifact('/azure/team/another-blob', { credential: 'query' }),
    artifact('/azure/team/in-blocks?comp=block&blockid=YQ=='),
    artifact('/azure/team/in-blocks?comp=blocklist', {
      body: () => '<BlockList><Latest>YQ==</Latest></BlockList>',
    }),
    { path: '/azure/team/in-blocks' },
  ],
  '/s3/': [artifact('/s3/bucket/a/key'), artifact('/s3/bucket/signed', { credential: 'signature' })],
  '/webdav/': [artifact('/webdav/team/a/file'), { path: '/webdav/team/a/' }],
  [PATH_SETS_PATH]: [
    artifact(`${PATH_SETS_PATH}${KEY.hash}?set=${DIGESTS.pathSet.hash}`, { body: () => '' }),
    { path: `${PATH_SETS_PATH}${KEY.hash}?find=${FIND}`, body: () => '' },
    { path: `${PATH_SETS_PATH}${KEY.hash}?inlined=100000`, body: () => '' },
    {
      path: `${PATH_SETS_PATH}${KEY.hash}?publish=${PUBLISHED.hash}&set=${DIGESTS.pathSet.hash}`,
      body: (identity) => appendBlobs({ result: resultBy(identity), blobs: [blobBy(identity)] }),
    },
  ],
  '/labels/v1/': labels('/labels/v1/some/team'),
  '/': [artifact('/bucket/at-root', { credential: 'signature' })],
  'bazel-http': [
    { path: `/cas/${DIGESTS.small.hash}` },
    { path: `/cas/${DIGESTS.large.hash}`, headers: { range: 'bytes=0-99' } },
    { path: `/cas/${DIGESTS.small.hash}`, headers: { 'if-none-match': `"${DIGESTS.small.hash}"` } },
    { path: `/cas/${DIGESTS.small.hash}`, headers: { 'if-match': `"${DIGESTS.small.hash}"` } },
    { path: `/web/cas/${DIGESTS.large.hash}`, headers: { 'upload-complete': '?0' } },
    { path: `/web/cas/${DIGESTS.pathSet.hash}`, headers: { 'upload-complete': '?1' } },
    artifact(`/ac/${KEY.hash}`, { body: resultBy, headers: { 'assay-company': '100000' } }),
    { path: `/ac/${KEY.hash}`, body: resultBy, headers: { accept: 'application/json' } },
    artifact(`/ac/${PREDICTED.hash}`, { body: resultBy }),
    artifact(`/web/ac/${KEY.hash}`, { body: resultBy }),
    { path: `/ac/${KEY.hash}`, body: resultBy, headers: { 'if-none-match': '*' } },
  ],
  resumable: [
    {
      path: `/uploads/${DIGESTS.small.hash}`,
      headers: { 'upload-complete': '?1', 'upload-offset': '0' },
    },
    {
      path: `/web/uploads/${DIGESTS.large.hash}`,
      headers: { 'upload-complete': '?0', 'upload-offset': '0' },
    },
  ],
  'fastify /': [{ path: '/' }, { path: '/', headers: BROWSER, isLive: true }],
  'fastify /status': [{ path: '/status' }],
  'fastify /healthz': [{ path: '/healthz' }],
  'fastify /readyz': [{ path: '/readyz' }],
  'fastify /metrics': [{ path: '/metrics', isLive: true }],
  'fastify /auth/token': [
    {
      path: '/auth/token',
      headers: FORM_TYPE,
      body: (identity) =>
        `grant_type=urn:ietf:params:oauth:grant-type:token-exchange&subject_token=${identity}&subject_token_type=urn:ietf:params:oauth:token-type:jwt`,
    },
  ],
  'fastify /labels/v1/': labels('/labels/v1/'),
  'fastify /labels/v1/:namespace': labels('/labels/v1/web'),
  ...turboApi('/v8/artifacts'),
  ...turboApi('/turbo/:namespace/v8/artifacts'),
};

export type HttpExamples = Readonly<Record<string, readonly HttpExample[]>>;

/** A wing has those of its own addresses in test/http-examples.ts. */
async function ofWings(): Promise<HttpExamples> {
  const all: HttpExamples[] = [];
  for (const file of filesOfWings('test/http-examples.ts')) {
    const { HTTP_EXAMPLES }: { HTTP_EXAMPLES: HttpExamples } = await import(file);
    all.push(HTTP_EXAMPLES);
  }
  return Object.assign({}, ...all);
}

export const HTTP_EXAMPLES: HttpExamples = { ...OF_TRUNK, ...(await ofWings()) };
