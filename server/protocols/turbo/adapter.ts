// Turborepo's remote cache, version 8 of its API: /v8/artifacts at the root or below /turbo/NAMESPACE/.
// The client's team, by slug or by id, is part of the namespace.
import { parseNamespace } from '../../../core/namespace.ts';
import type { ResultAddress } from '../../../store/store.ts';
import { jsonErrors } from '../../http/error-response.ts';
import type { Exchange } from '../../http/exchange.ts';
import { type Adapter, badKey, methodNotAllowed, type RequestTarget } from '../shared/adapter.ts';
import { artifactAddress } from '../shared/artifact.ts';
import { getArtifact, putArtifact } from './artifact.ts';
import { allowAuthorization } from './preflight.ts';
import { queryArtifacts } from './query.ts';
import { acknowledgeEvents, status } from './session.ts';

const ADDRESS = /^(?:(?<prefix>.+)\/)?v8\/artifacts(?:\/(?<name>[0-9A-Za-z_-]{1,255}))?$/;

export const turbo: Adapter = {
  protocol: 'turbo',
  base: '/turbo/',
  atRoot: 'v8/artifacts',
  errors: jsonErrors('GET, HEAD, OPTIONS, POST, PUT'),
  async answer(exchange, target) {
    if (exchange.method === 'OPTIONS') return allowAuthorization(exchange);
    exchange.authorize();
    const { name, address } = parse(target);
    if (name === undefined) return queryArtifacts(exchange, address);
    if (name === 'status') return status(exchange);
    if (name === 'events') return acknowledgeEvents(exchange);
    return artifact(exchange, address(name));
  },
};

function artifact(exchange: Exchange, address: ResultAddress): Promise<void> {
  switch (exchange.method) {
    case 'GET':
    case 'HEAD':
      return getArtifact(exchange, address);
    case 'PUT':
      exchange.authorizeWrite();
      return putArtifact(exchange, address);
    default:
      throw methodNotAllowed(exchange);
  }
}

interface Asked {
  readonly name: string | undefined;
  readonly address: (hash: string) => ResultAddress;
}

function parse({ path, query }: RequestTarget): Asked {
  const found = ADDRESS.exec(path)?.groups;
  if (!found) throw badKey('/v8/artifacts/HASH or /turbo/[NAMESPACE/]v8/artifacts/HASH');
  const team = new URLSearchParams(query);
  const parts = [found.prefix, team.get('slug') || team.get('teamId')];
  const namespace = parseNamespace(parts.filter(Boolean).join('/'));
  return { name: found.name, address: (hash) => artifactAddress('turbo', namespace, hash) };
}
