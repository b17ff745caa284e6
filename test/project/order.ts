// The order of the rooms and of the folders in each of them. imports.test.ts holds it, and docs/images/trunk.svg shows it.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './sources.ts';

const IN_A_LINE = 8;

/** The rooms that each room may import from, beside itself. wings.test.ts has the rules of wings/. */
export const ROOMS: Readonly<Record<string, readonly string[]>> = {
  core: [],
  system: ['core'],
  store: ['core', 'system'],
  hermeticity: ['core', 'system'],
  server: ['core', 'system', 'store'],
  client: ['core', 'system', 'store', 'hermeticity'],
  bin: ['core', 'client', 'server', 'wings'],
};

/**
 * The order inside each room, from the bottom to the top. A folder imports only from lines that stand before
 * its own. A file at the root of a room counts as a folder. Types count.
 */
export const ORDER: Readonly<Record<string, readonly string[]>> = {
  core: [
    'grpc-status.ts',
    'action-lease.ts  bun.ts  concurrently.ts  edit-message.ts  errors.ts  key-version.ts  labels.ts  small-sha256.ts  text  units.ts  version.ts',
    'limits.ts  proto/generated/build/bazel/semver  proto/generated/google/protobuf',
    'proto/generated/google/rpc',
    'proto/generated',
    'cli  grpc  html  namespace.ts  path.ts',
    'config  message.ts  sha256.ts  tokens',
    'digest.ts  evidence.ts  fastcdc.ts  proto',
    'metadata',
    'action.ts  inlined-blobs.ts  path-set.ts  precedence.ts  result.ts  tree.ts',
  ],
  system: ['limits.ts', 'paths  process', 'files'],
  store: [
    'action-leases.ts  limits.ts  size-limit.ts  history.ts',
    'store.ts',
    'accounts.ts  events.ts  raw.ts',
    'shared  scrub  log  review  migration',
    'actions',
    'layers',
    'disk/fs',
    'disk/index',
    'disk/accounts',
    'disk/files',
    'disk/space',
    'disk/uploads',
    'disk',
    'open.ts',
  ],
  hermeticity: ['limits.ts', 'trace', 'sandbox', 'lenses', 'verdict', 'reproduction.ts'],
  server: [
    'limits.ts  log.ts',
    'lifecycle.ts  history',
    'background  capacity  access',
    'access/web  request',
    'context.ts',
    'scope.ts',
    'http',
    'pages  grpc',
    'connection  server-port.ts',
    'config',
    'protocols/shared  protocols/moon',
    ...otherProtocols(['shared', 'moon', 'actions', 'asset', 'bazel-http']),
    'protocols/actions  protocols/asset  protocols/bazel-http',
    'adapters.ts',
    'routes.ts',
    'listen.ts',
    'commands',
  ],
  client: [
    'limits.ts',
    'terminal',
    'local-store  remote',
    'remote/grpc  files',
    'lenses',
    'action',
    'tools',
    'inputs',
    'process',
    'config  outputs  path-sets',
    'history  trace',
    'lease  retry',
    'run',
    'maintenance  maintenance/verify  view',
    'check-hits  jobs  report',
    'short',
    'up-to-date',
    'graph/page  graph/select',
    'graph',
    'audit  library',
    'commands',
    'commands/report',
  ],
  bin: ['wings.ts', 'step-hook.ts', 'assay.ts  library.ts'],
};

/** The protocols that stand on no other one, as many on a line as the picture has room for. */
function otherProtocols(placed: readonly string[]): string[] {
  const names = readdirSync(join(ROOT, 'server/protocols'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !placed.includes(entry.name))
    .map(({ name }) => `protocols/${name}`)
    .sort();
  return [names.slice(0, IN_A_LINE), names.slice(IN_A_LINE)].map((line) => line.join('  '));
}
