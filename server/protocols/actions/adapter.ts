// The cache service of GitHub Actions, version 2. Its calls are at /twirp/ or /actions/NAMESPACE/twirp/ and
// need the token. Uploads and downloads use signed URLs, which need no token.
import { type Namespace, parseRequestedNamespace } from '../../../core/namespace.ts';
import type { Exchange } from '../../http/exchange.ts';
import { type Adapter, badKey, methodNotAllowed } from '../shared/adapter.ts';
import { CREATE, FINALIZE, GET_URL } from './calls.ts';
import { sendDownload } from './download.ts';
import { createEntry, finalizeEntry, getDownloadUrl } from './service.ts';
import { verifiedSubject } from './signed-url.ts';
import { answerCall, TWIRP_ERRORS } from './twirp.ts';
import { receiveSignedUpload } from './upload.ts';

const CALL = /^(?:(?<within>.+)\/)?twirp\/github\.actions\.results\.api\.v1\.CacheService\/(?<name>\w+)$/;

export const actions: Adapter = {
  protocol: 'actions',
  base: '/actions/',
  atRoot: 'twirp/',
  errors: TWIRP_ERRORS,
  async answer(exchange, { path, query }) {
    const found = CALL.exec(path)?.groups;
    if (!found) return signedAddress(exchange, path, new URLSearchParams(query));
    exchange.authorize();
    if (exchange.method !== 'POST') throw methodNotAllowed(exchange);
    return call(exchange, parseRequestedNamespace(found.within ?? ''), found.name ?? '');
  },
};

function call(exchange: Exchange, within: Namespace, name: string): Promise<void> {
  switch (name) {
    case 'GetCacheEntryDownloadURL':
      return answerCall(exchange, GET_URL, (asked) => getDownloadUrl(exchange, within, asked));
    case 'CreateCacheEntry':
      return answerCall(exchange, CREATE, (asked) => createEntry(exchange, within, asked));
    case 'FinalizeCacheEntryUpload':
      return answerCall(exchange, FINALIZE, (asked) => finalizeEntry(exchange, within, asked));
    default:
      throw badKey('CreateCacheEntry, FinalizeCacheEntryUpload and GetCacheEntryDownloadURL');
  }
}

function signedAddress(exchange: Exchange, path: string, query: URLSearchParams): Promise<void> {
  if (!/^(upload|download)\//.test(path)) {
    exchange.authorize();
    throw badKey('/twirp/… or /actions/[NAMESPACE/]twirp/…');
  }
  const { subject, authorization } = verifiedSubject(path, query);
  exchange.authorizeAs(exchange.server.access.ofHeader(authorization));
  return subject.startsWith('upload/')
    ? receiveSignedUpload(exchange, subject, query)
    : sendDownload(exchange, subject);
}
