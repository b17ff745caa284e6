// A server in this process with the dashboard.

import { all } from '../../../server/access/rights.ts';
import { authorized } from '../../../server/http/app.ts';
import type { ServerPart } from '../../../server/server-port.ts';
import * as trunk from '../../../test/server/rig.ts';
import { dashboard } from '../part.ts';

/** Refuses all tokens but those with the right `admin`: a test that needs a denied request asks it. */
export const FOR_ADMINS: ServerPart = {
  async routes(app) {
    app.get('/for-admins', { onRequest: authorized(all('admin')) }, () => '');
  },
};

/** `flushMs`: how often the dashboard writes what it counted. */
export function testServer({
  flushMs,
  wings = [],
  ...options
}: trunk.TestServerOptions & { readonly flushMs?: number } = {}): Promise<trunk.TestServer> {
  return trunk.testServer({ ...options, wings: [dashboard(flushMs), ...wings] });
}
