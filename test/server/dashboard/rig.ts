// A server in this process with the dashboard.
import { DASHBOARD } from '../../../server/dashboard/limits.ts';
import { dashboard } from '../../../server/dashboard/part.ts';
import * as trunk from '../rig.ts';

/** `flushMs`: how often the dashboard writes what it counted. */
export function testServer({
  flushMs = DASHBOARD.flushMs,
  ...options
}: trunk.TestServerOptions & { readonly flushMs?: number } = {}): Promise<trunk.TestServer> {
  return trunk.testServer({ ...options, wings: [dashboard(flushMs)] });
}
