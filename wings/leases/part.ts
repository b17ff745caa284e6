// The part of a server that has leases: routes, methods of gRPC, and a timer that removes leases which ended long ago.
import { messageOf } from '../../core/errors.ts';
import { withoutProtocol } from '../../core/namespace.ts';
import type { ServerContext } from '../../server/context.ts';
import type { Observer } from '../../server/request/observer.ts';
import type { ServerPart } from '../../server/server-port.ts';
import { leaseMethods } from './grpc.ts';
import { leaseRoutes } from './http.ts';
import { LEASES } from './limits.ts';
import { LeaseService } from './service.ts';

export function leases(): ServerPart {
  let service: LeaseService | undefined;
  /** Requests come after `observe`. */
  const running = (): LeaseService => {
    if (!service) throw new Error('the server does not run yet');
    return service;
  };
  return {
    routes: leaseRoutes(running),
    calls: leaseMethods(running),
    observe(server) {
      service = new LeaseService(server);
      return observer(service, server);
    },
  };
}

/** The write log tells it of each result, and it wakes the requests that wait for one. */
function observer(service: LeaseService, { log, readOnly }: ServerContext): Observer {
  let timer: NodeJS.Timeout | undefined;
  let forgetting: Promise<void> = Promise.resolve();
  return {
    start() {
      if (readOnly) return;
      timer = setInterval(() => {
        forgetting = service
          .forgetEnded()
          .catch((error: unknown) => log.warn({ why: messageOf(error) }, 'old leases could not be removed'));
      }, LEASES.forgetMs);
    },
    wrote({ what, namespace, key }) {
      const isResult = what === 'result' || what === 'path-set';
      if (isResult && typeof namespace === 'string' && typeof key === 'string')
        service.waiters.published(withoutProtocol(namespace), key);
    },
    lookedUp() {},
    answered() {},
    denied() {},
    toldSession() {},
    async close() {
      clearInterval(timer);
      await forgetting;
    },
  };
}
