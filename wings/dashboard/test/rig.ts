// A server in this process with the dashboard.
import { dashboard } from '../part.ts';
import * as trunk from '../../../test/server/rig.ts';

/** `flushMs`: how often the dashboard writes what it counted. */
export function testServer({
  flushMs,
  ...options
}: trunk.TestServerOptions & { readonly flushMs?: number } = {}): Promise<trunk.TestServer> {
  return trunk.testServer({ ...options, wings: [dashboard(flushMs)] });
}
