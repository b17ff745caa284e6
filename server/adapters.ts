// The table of all protocol adapters, and the lookup of the adapter for a URL.
// It is searched before Bazel's HTTP protocol, whose URLs may have any prefix.
import type { IncomingMessage } from 'node:http';
import { LABELS_PATH } from '../core/labels.ts';
import { actions } from './protocols/actions/adapter.ts';
import { azure } from './protocols/azure/adapter.ts';
import { ccache } from './protocols/ccache/adapter.ts';
import { gradle } from './protocols/gradle/adapter.ts';
import { labelsApi } from './protocols/labels/api.ts';
import { nx } from './protocols/nx/adapter.ts';
import { pathSets } from './protocols/path-sets/adapter.ts';
import { rush } from './protocols/rush/adapter.ts';
import { s3 } from './protocols/s3/adapter.ts';
import type { Adapter } from './protocols/shared/adapter.ts';
import type { JsonApi } from './protocols/shared/json-api.ts';
import { turbo } from './protocols/turbo/adapter.ts';
import { webdav } from './protocols/webdav/adapter.ts';

const ADAPTERS: readonly Adapter[] = [ccache, gradle, turbo, nx, rush, actions, azure, s3, webdav, pathSets];

/** The routes of fastify: the JSON APIs of the adapters, and labels, which have no adapter. */
export const JSON_APIS: readonly JsonApi[] = [labelsApi, ...ADAPTERS.flatMap(({ api }) => api ?? [])];

/** A URL prefix, and the adapter or JSON API below it. */
interface Mount {
  readonly prefix: string;
  readonly adapter?: Adapter;
  readonly api?: JsonApi | undefined;
  /** Length of the base path. The adapter gets the URL without it. */
  readonly baseLength: number;
}

const LABELS: Mount = { prefix: LABELS_PATH, api: labelsApi, baseLength: 0 };

/** Many S3 clients accept a host but no path, so a request with an S3 signature may have any path. */
const S3_AT_ROOT: Mount = { adapter: s3, prefix: '/', baseLength: 1 };

const WITH_BASE: readonly Mount[] = [LABELS, ...ADAPTERS.flatMap(mountsOf)];

/** Every address below which an adapter or a JSON API answers. */
export const MOUNTS: readonly Mount[] = [...WITH_BASE, S3_AT_ROOT];

/** So a request of another protocol costs one lookup. */
const BY_FIRST_SEGMENT: ReadonlyMap<string, readonly Mount[]> = Map.groupBy(WITH_BASE, ({ prefix }) =>
  firstSegment(prefix),
);

function mountsOf(adapter: Adapter): Mount[] {
  const { base, atRoot, api } = adapter;
  const atBase = { prefix: base, adapter, api, baseLength: base.length };
  return atRoot === undefined ? [atBase] : [atBase, { prefix: `/${atRoot}`, adapter, api, baseLength: 1 }];
}

export function findMount({ url = '', headers }: IncomingMessage): Mount | undefined {
  const mount = BY_FIRST_SEGMENT.get(firstSegment(url))?.find(({ prefix }) => url.startsWith(prefix));
  return mount ?? (isSignedForS3(headers.authorization) ? S3_AT_ROOT : undefined);
}

/** The fastify route of a URL, undefined if it belongs to no JSON API. */
export function apiUrl(api: JsonApi, url: string): string | undefined {
  const queryStart = url.indexOf('?');
  const end = queryStart === -1 ? url.length : queryStart;
  const match = api.path.exec(url.slice(0, end));
  return match ? api.urlFor(match.groups ?? {}) + url.slice(end) : undefined;
}

function isSignedForS3(authorization: string | undefined): boolean {
  return authorization?.startsWith('AWS4-') ?? false;
}

function firstSegment(url: string): string {
  return url.slice(0, url.indexOf('/', 1));
}
