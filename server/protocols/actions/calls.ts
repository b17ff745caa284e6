// The JSON forms of the messages of the three calls. Responses are as GitHub's: snake_case, sizes as text.
// Requests may also have camelCase and numbers, as wireit sends them.
import { AssayError } from '../../../core/errors.ts';
import {
  CreateCacheEntryRequest,
  CreateCacheEntryResponse,
  FinalizeCacheEntryUploadRequest,
  FinalizeCacheEntryUploadResponse,
  GetCacheEntryDownloadURLRequest,
  GetCacheEntryDownloadURLResponse,
} from '../../../core/proto/generated/actions_cache.ts';
import { fieldOf } from '../../http/json.ts';
import type { TwirpCall } from './twirp.ts';

export const CREATE: TwirpCall<CreateCacheEntryRequest, CreateCacheEntryResponse> = {
  request: CreateCacheEntryRequest,
  response: CreateCacheEntryResponse,
  readJson: (json) => ({ key: textIn(json, 'key'), version: textIn(json, 'version') }),
  /** wireit takes any text for a URL, so a response without a URL omits the field. */
  writeJson: ({ ok, signedUploadUrl, message }) =>
    ok ? { ok, signed_upload_url: signedUploadUrl } : { ok, message },
};

export const FINALIZE: TwirpCall<FinalizeCacheEntryUploadRequest, FinalizeCacheEntryUploadResponse> = {
  request: FinalizeCacheEntryUploadRequest,
  response: FinalizeCacheEntryUploadResponse,
  readJson: (json) => ({
    key: textIn(json, 'key'),
    version: textIn(json, 'version'),
    sizeBytes: sizeIn(json, 'size_bytes', 'sizeBytes'),
  }),
  writeJson: ({ ok, entryId, message }) => (ok ? { ok, entry_id: String(entryId) } : { ok, message }),
};

export const GET_URL: TwirpCall<GetCacheEntryDownloadURLRequest, GetCacheEntryDownloadURLResponse> = {
  request: GetCacheEntryDownloadURLRequest,
  response: GetCacheEntryDownloadURLResponse,
  readJson: (json) => ({
    key: textIn(json, 'key'),
    version: textIn(json, 'version'),
    restoreKeys: textsIn(json, 'restore_keys', 'restoreKeys'),
  }),
  writeJson: ({ ok, signedDownloadUrl, matchedKey }) => ({
    ok,
    signed_download_url: signedDownloadUrl,
    matched_key: matchedKey,
  }),
};

function textIn(json: unknown, name: string): string {
  const value = fieldOf(json, name);
  return typeof value === 'string' ? value : refuse(`${name} is not text`);
}

function textsIn(json: unknown, ...names: readonly string[]): string[] {
  const value = fieldOf(json, ...names) ?? [];
  return Array.isArray(value) && value.every(isText) ? value : refuse(`${names[0]} is not a list of texts`);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function sizeIn(json: unknown, ...names: readonly string[]): number {
  const value = fieldOf(json, ...names);
  const size = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
  const isSize = typeof size === 'number' && Number.isSafeInteger(size) && size >= 0;
  return isSize ? size : refuse(`${names[0]} is not a size`);
}

function refuse(why: string): never {
  throw new AssayError('ASSAY_BAD_MESSAGE', why);
}
