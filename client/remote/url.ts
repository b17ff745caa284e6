// Parses and checks a remote's URL before anything runs. A local hit loads this file and not http.ts.
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

/** An Assay server speaks HTTP on the same port as gRPC. Without a path. */
export function serverAddress({ protocol, host }: URL): string {
  return `${protocol.replace(/^grpc/, 'http')}//${host}`;
}

/** The same remote with a sub-namespace, for keys of another kind. */
export function remoteBelow(url: URL, namespace: Namespace): URL {
  const below = new URL(url);
  below.pathname = `${url.pathname.replace(/\/+$/, '')}/${namespace}`;
  return below;
}
