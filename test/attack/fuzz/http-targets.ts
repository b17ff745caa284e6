// Valid requests of every HTTP protocol of the server. Keys come from a small set, so that one request finds
// what an earlier one stored.
import { digestOf } from '../../../core/digest.ts';
import { appendBlobs } from '../../../core/inlined-blobs.ts';
import {
  CreateCacheEntryRequest,
  FinalizeCacheEntryUploadRequest,
  GetCacheEntryDownloadURLRequest,
} from '../../../core/proto/generated/actions_cache.ts';
import { FindResultRequest } from '../../../core/proto/generated/assay.ts';
import type { Random } from '../../rig/random.ts';
import { filesOfWings } from '../../rig/wings.ts';
import { PLAIN } from '../../server/protocols/plain.ts';
import { resultNaming } from '../../store/content.ts';
import { type FuzzRequest, type FuzzTarget, request } from './request.ts';

export async function httpTargets(random: Random): Promise<FuzzTarget[]> {
  const content = () => Buffer.alloc(random.pick([0, 10, 1000, 70_000]), random.below(4));
  const digits = (length: number) => String(random.below(4)).repeat(length);
  const either = (path: string, headers?: Readonly<Record<string, string>>): FuzzRequest =>
    random.below(2) === 0
      ? request('PUT', path, content(), headers)
      : request(random.pick(['GET', 'HEAD']), path);
  const target = (name: string, next: () => FuzzRequest): FuzzTarget => ({ name, next });
  return [
    target('cas', () => {
      const bytes = content();
      const path = `/some/prefix/cas/${digestOf(bytes).hash}`;
      return random.below(2) === 0 ? request('PUT', path, bytes) : request('GET', path);
    }),
    target('resumable', () => {
      const bytes = Buffer.alloc(1000, random.below(4));
      const { hash } = digestOf(bytes);
      const half = { 'upload-complete': '?0', 'upload-offset': '0' };
      return random.pick([
        request('PUT', `/some/prefix/cas/${hash}`, bytes.subarray(0, 500), half),
        request('PUT', `/some/prefix/cas/${hash}`, bytes, { 'upload-complete': '?1' }),
        request('PATCH', `/some/prefix/uploads/${hash}`, bytes.subarray(500), {
          'upload-complete': '?1',
          'upload-offset': '500',
        }),
        request('HEAD', `/some/prefix/uploads/${hash}`),
        request('DELETE', `/some/prefix/uploads/${hash}`),
      ]);
    }),
    target('ac', () => {
      const path = `/some/prefix/ac/${digits(64)}`;
      const digest = digestOf(content());
      const json = {
        outputFiles: [{ path: 'a', digest: { hash: digest.hash, sizeBytes: String(digest.size) } }],
      };
      return random.pick([
        request('PUT', path, resultNaming(digest)),
        request('PUT', path, JSON.stringify(json), { 'content-type': 'application/json' }),
        request('GET', path),
        request('GET', path, '', { accept: 'application/json' }),
      ]);
    }),
    ...PLAIN.map(({ name, pathsOf }) => target(name, () => either(random.pick(pathsOf(digits(64)))))),
    target('s3', () =>
      either(`/s3/bucket/a/b/c/${digits(64)}`, { 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD' }),
    ),
    target('webdav', () => {
      const path = `/webdav/team/a/${digits(64)}`;
      return random.pick([
        either(path),
        request('PROPFIND', path),
        request('PROPFIND', '/webdav/team/a/'),
        request('MKCOL', '/webdav/a/'),
      ]);
    }),
    target('turbo', () => {
      const path = `/v8/artifacts/${digits(16)}?slug=team`;
      return random.pick([
        either(path, { 'x-artifact-duration': '12', 'x-artifact-tag': 'tag' }),
        request('POST', '/v8/artifacts?slug=team', JSON.stringify({ hashes: [digits(16), digits(16)] })),
        request('POST', '/v8/artifacts/events', '[{"sessionId":"1","event":"HIT"}]'),
        request('GET', '/v8/artifacts/status'),
        request('OPTIONS', path),
      ]);
    }),
    target('azure', () => {
      const path = `/azure/team/${digits(40)}`;
      const list = '<BlockList><Latest>YQ==</Latest></BlockList>';
      return random.pick([
        either(path),
        request('PUT', `${path}?comp=block&blockid=YQ==`, content()),
        request('PUT', `${path}?comp=blocklist`, list),
      ]);
    }),
    target('labels', () => {
      const label = `deps-${digits(2)}`;
      return random.pick([
        request('PUT', `/labels/v1/team?label=${label}&key=${digits(64)}`),
        request('GET', `/labels/v1/team?exact=${label}&prefix=deps-`),
        request('GET', `/labels/v1/team?all=${label}`),
      ]);
    }),
    target('path-sets', () => {
      const path = `/path-sets/v1/team/${digits(64)}`;
      const candidates = [{ set: Buffer.alloc(8), result: Buffer.from(digits(64), 'hex') }];
      const bytes = content();
      const { hash } = digestOf(bytes);
      const published = appendBlobs({ result: resultNaming(digestOf(bytes)), blobs: [{ hash, bytes }] });
      const find = FindResultRequest.encode({
        instanceName: '',
        key: '',
        candidates,
        inlinedBytes: 1000,
        afterPrediction: random.below(2) === 0,
        step: Buffer.from(digits(random.below(2) * 32), 'hex'),
      });
      return random.pick([
        request('PUT', `${path}?set=${digestOf(Buffer.alloc(0)).hash}`),
        request('PUT', `${path}?set=${digits(64)}`),
        request('PUT', `${path}?publish=${digits(64)}&first=${random.below(2)}`, published),
        request('GET', `${path}?find=${Buffer.from(find.finish()).toString('base64url')}`),
        request('GET', `${path}${random.pick(['', '?inlined=1000', '?inlined=-1', '?inlined=x'])}`),
      ]);
    }),
    target('admin', () =>
      random.pick([
        request('POST', '/admin/forget', JSON.stringify({ namespace: 'some', listed: 3 }), {
          'content-type': 'application/json',
        }),
        request('GET', `/admin/divergences?limit=${random.pick([1, 50, 0])}`),
      ]),
    ),
    target('pages', () => request('GET', random.pick(['/', '/status', '/metrics', '/healthz', '/nowhere']))),
    actionsTarget(random, content),
    ...(await ofWings(random)),
  ];
}

/** A wing has those of its own addresses in test/fuzz-targets.ts. */
async function ofWings(random: Random): Promise<FuzzTarget[]> {
  const all: FuzzTarget[] = [];
  for (const file of filesOfWings('test/fuzz-targets.ts')) {
    const { fuzzTargets }: { fuzzTargets: (random: Random) => FuzzTarget[] } = await import(file);
    all.push(...fuzzTargets(random));
  }
  return all;
}

const SERVICE = '/twirp/github.actions.results.api.v1.CacheService';

/** Continues with the signed URLs that earlier responses contained. */
function actionsTarget(random: Random, content: () => Buffer): FuzzTarget {
  let signed = '/actions/upload/none?sig=0';
  const call = (method: string, json: object, message: Uint8Array): FuzzRequest =>
    random.below(2) === 0
      ? request('POST', `${SERVICE}/${method}`, JSON.stringify(json), { 'content-type': 'application/json' })
      : request('POST', `${SERVICE}/${method}`, Buffer.from(message), {
          'content-type': 'application/protobuf',
        });
  const id = () => Buffer.from(`block-${random.below(3)}`).toString('base64');
  return {
    name: 'actions',
    received(body) {
      const url = /https?:\/\/[^/"]+(\/actions\/[0-9a-z/]+\?sig=[0-9a-f]{64})/.exec(
        body.toString('latin1'),
      )?.[1];
      signed = url ?? signed;
    },
    next() {
      const entry = { key: `deps-${random.below(5)}`, version: 'v' };
      const sizeBytes = random.pick([0, 10, 1000, 70_000]);
      const prefixes = { ...entry, restoreKeys: ['deps-'] };
      return random.pick([
        () => call('CreateCacheEntry', entry, CreateCacheEntryRequest.encode(entry).finish()),
        () =>
          call(
            'FinalizeCacheEntryUpload',
            { ...entry, size_bytes: sizeBytes },
            FinalizeCacheEntryUploadRequest.encode({ ...entry, sizeBytes }).finish(),
          ),
        () =>
          call(
            'GetCacheEntryDownloadURL',
            { ...entry, restore_keys: ['deps-'] },
            GetCacheEntryDownloadURLRequest.encode(prefixes).finish(),
          ),
        () => request('PUT', signed, content(), { 'x-ms-blob-type': 'BlockBlob' }),
        () => request('PUT', `${signed}&comp=block&blockid=${encodeURIComponent(id())}`, content()),
        () => request('PUT', `${signed}&comp=blocklist`, `<BlockList><Latest>${id()}</Latest></BlockList>`),
        () => request('GET', signed),
      ])();
    },
  };
}
