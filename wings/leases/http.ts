// Action leases over HTTP, as a fastify plugin: POST /action-leases/v1/ and acquire, wait, heartbeat or release.
import type { FastifyInstance } from 'fastify';
import { ACTION_LEASES_PATH } from '../../core/action-lease.ts';
import { all } from '../../server/access/rights.ts';
import { authorized, onlyMethods } from '../../server/http/app.ts';
import { jsonErrors } from '../../server/http/error-response.ts';
import { type LeaseFields, NO_FIELDS } from './fields.ts';
import type { LeaseMethod, LeaseService } from './service.ts';

const METHODS: readonly LeaseMethod[] = ['acquire', 'wait', 'heartbeat', 'release'];

interface Ask {
  readonly Body: Partial<LeaseFields>;
}

export function leaseRoutes(service: () => LeaseService): (app: FastifyInstance) => Promise<void> {
  return async (app) => {
    const config = { route: 'action-leases', errors: jsonErrors('POST') } as const;
    for (const method of METHODS) {
      const url = `${ACTION_LEASES_PATH}${method}`;
      onlyMethods(app, url, { config }, 'POST');
      const options = { config, onRequest: authorized(all('leases')), schema: { body: FIELDS } };
      app.post<Ask>(url, options, ({ body, exchange }) => {
        const { store, server, response } = exchange;
        const caller = {
          ...{ store, server },
          get isGone() {
            return response.destroyed;
          },
        };
        return service()[method](caller, { ...NO_FIELDS, ...body });
      });
    }
  };
}

const TEXT = { type: 'string' };
const NUMBER = { type: 'number' };

/** Fields that a later client adds are ignored. */
const FIELDS = {
  type: 'object',
  required: ['namespace', 'key'],
  properties: {
    ...{ namespace: TEXT, key: TEXT, id: TEXT, holder: TEXT, expectedMs: NUMBER, step: TEXT },
    ...{ fence: TEXT, after: TEXT, waitMs: NUMBER, reason: TEXT, detail: TEXT },
  },
};
