// A remote's address, checked before anything runs. Apart from http.ts, so that a local hit does not load that.
import { AssayError } from '../../core/errors.ts';
import type { Namespace } from '../../core/namespace.ts';

const PROTOCOLS = ['http:', 'https:', 'grpc:', 'grpcs:'];

export function parseRemoteUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.host && PROTOCOLS.includes(url.protocol) && !url.search && !url.hash) return url;
  throw new AssayError(
    'ASSAY_USAGE',
    `the remote ${JSON.stringify(text)} is not an http://, https://, grpc:// or grpcs:// address`,
  );
}

/** The same remote, for keys of another kind: they live in a namespace of their own below the one that was named. */
export function remoteBelow(url: URL, namespace: Namespace): URL {
  const below = new URL(url);
  below.pathname = `${url.pathname.replace(/\/+$/, '')}/${namespace}`;
  return below;
}
