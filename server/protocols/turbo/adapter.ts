// Turborepo's remote cache, version 8 of its API: /v8/artifacts/HASH at the root or below /turbo/NAMESPACE/.
// Its JSON API is in api.ts.
import type { ResultAddress } from '../../../store/store.ts';
import type { Exchange } from '../../http/exchange.ts';
import { type Adapter, badKey, methodNotAllowed, type RequestTarget } from '../shared/adapter.ts';
import { GET_ARTIFACT, PUT_ARTIFACT } from '../shared/artifact-exchange.ts';
import { artifactIn, TURBO_ERRORS } from './address.ts';
import { turboApi } from './api.ts';
import { getArtifact, putArtifact } from './artifact.ts';
import { allowAuthorization } from './preflight.ts';

const ADDRESS = /^(?:(?<prefix>.+)\/)?v8\/artifacts\/(?<hash>[0-9A-Za-z_-]{1,255})$/;

/** Turborepo sends it before it sends its token. */
const PREFLIGHT = ['OPTIONS'];

export const turbo: Adapter = {
  protocol: 'turbo',
  base: '/turbo/',
  atRoot: 'v8/artifacts',
  publicMethods: PREFLIGHT,
  errors: TURBO_ERRORS,
  api: turboApi,
  async answer(exchange, target) {
    if (PREFLIGHT.includes(exchange.method)) return allowAuthorization(exchange);
    exchange.authorize(exchange.method === 'PUT' ? PUT_ARTIFACT : GET_ARTIFACT);
    return artifact(exchange, parse(target));
  },
};

function artifact(exchange: Exchange, address: ResultAddress): Promise<void> {
  switch (exchange.method) {
    case 'GET':
    case 'HEAD':
      return getArtifact(exchange, address);
    case 'PUT':
      return putArtifact(exchange, address);
    default:
      throw methodNotAllowed(exchange);
  }
}

function parse({ path, query }: RequestTarget): ResultAddress {
  const { prefix, hash } = ADDRESS.exec(path)?.groups ?? {};
  if (hash === undefined) throw badKey('/v8/artifacts/HASH or /turbo/[NAMESPACE/]v8/artifacts/HASH');
  const team = new URLSearchParams(query);
  return artifactIn(prefix, { slug: team.get('slug'), teamId: team.get('teamId') }, hash);
}
