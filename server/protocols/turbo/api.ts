// Turborepo's JSON API, as a fastify plugin: the status of the cache, events, and queries about artifacts.
// The artifacts themselves are on the hot path, in adapter.ts.
import type { FastifyInstance } from 'fastify';
import type { ResultAddress } from '../../../store/store.ts';
import { all } from '../../access/rights.ts';
import type { RequestContext } from '../../context.ts';
import { authorized, onlyMethods } from '../../http/app.ts';
import { findArtifact } from '../shared/artifact.ts';
import type { JsonApi } from '../shared/json-api.ts';
import { artifactIn, type Team, TURBO_ERRORS } from './address.ts';
import { tellSessions } from './sessions.ts';

export const turboApi: JsonApi = {
  path: /^(?:\/turbo(?:\/(?<namespace>.+))?)?(?<endpoint>\/v8\/artifacts(?:\/status|\/events)?)$/,
  urlFor: ({ namespace, endpoint = '' }) =>
    namespace === undefined ? endpoint : `/turbo/${encodeURIComponent(namespace)}${endpoint}`,
  async plugin(app) {
    app.register(endpoints, { prefix: '/v8/artifacts' });
    app.register(endpoints, { prefix: '/turbo/:namespace/v8/artifacts' });
  },
};

interface Query {
  readonly Params: { readonly namespace?: string };
  readonly Querystring: Team;
  readonly Body: { readonly hashes: readonly string[] };
}

interface EventsRequest extends Omit<Query, 'Body'> {
  readonly Body: unknown;
}

async function endpoints(app: FastifyInstance): Promise<void> {
  const config = { route: 'turbo', errors: TURBO_ERRORS } as const;
  onlyMethods(app, '', { config }, 'POST', 'OPTIONS');
  onlyMethods(app, '/status', { config }, 'GET', 'OPTIONS');
  onlyMethods(app, '/events', { config }, 'POST', 'OPTIONS');

  app.get('/status', { config, exposeHeadRoute: false }, () => ({ status: 'enabled' }));

  /** The client's hit and miss events. The server counts its own, and takes from these what belongs together. */
  app.post<EventsRequest>('/events', { config, schema: { querystring: TEAM, body: EVENTS } }, (request) => {
    const { exchange, params, query, body } = request;
    tellSessions(exchange, params.namespace, query, body);
    return {};
  });

  /** Which of these hashes are stored, with their sizes and build durations. */
  app.post<Query>(
    '',
    {
      config,
      onRequest: authorized(all('results:read')),
      schema: { querystring: TEAM, body: HASHES },
    },
    async (request) => {
      const { body, params, query, exchange } = request;
      const found: Record<string, object | null> = {};
      for (const hash of body.hashes) {
        found[hash] = await describe(exchange, artifactIn(params.namespace, query, hash));
      }
      return found;
    },
  );
}

async function describe(request: RequestContext, address: ResultAddress): Promise<object | null> {
  const artifact = await findArtifact(request.store, address);
  request.lookedUp('turbo', 'turbo', artifact !== undefined, address);
  if (!artifact) return null;
  const { 'x-artifact-duration': duration, 'x-artifact-tag': tag } = artifact.attributes;
  return {
    size: artifact.digest.size,
    taskDurationMs: Number.parseInt(duration ?? '0', 10) || 0,
    ...(tag !== undefined && { tag }),
  };
}

const EVENTS = { anyOf: [{ type: 'array' }, { type: 'object' }] };

const TEAM = { type: 'object', properties: { slug: { type: 'string' }, teamId: { type: 'string' } } };

const HASHES = {
  type: 'object',
  required: ['hashes'],
  properties: { hashes: { type: 'array', items: { type: 'string', pattern: '^[0-9A-Za-z_-]{1,255}$' } } },
};
