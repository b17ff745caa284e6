// Makes the files that people install with npm on machines like this one, from the output of `npm run build`:
// dist/assay-VERSION-linux-ARCH.tgz, the client, and dist/assay-server-VERSION-linux-ARCH.tgz, the server.
//
//   npm run package                     for an address or a file; npm refuses to publish them
//   npm run package -- @our-team/assay  for a registry, under names in your scope
//
// The server has no pages at /docs then: `npm run release` makes them first.
//
// Assay is not in the public registry. A name without a scope is refused: machines that do not know your
// registry would ask the public one for it, and anybody can register it there.
import { kindOf } from './release/kinds.ts';
import { packClient, packServer } from './release/npm.ts';
import { partsFor } from './release/parts.ts';
import { DIST } from './release/places.ts';

const SCOPED = /^@[a-z0-9~-][a-z0-9._~-]*\/[a-z0-9~-][a-z0-9._~-]*$/;

const [name, ...rest] = process.argv.slice(2);
if (rest.length > 0 || (name !== undefined && !SCOPED.test(name)))
  throw new Error('the name needs a scope of yours: npm run package -- @our-team/assay');
const parts = partsFor(kindOf(process.arch));
for (const pack of [packClient, packServer]) process.stdout.write(`${pack(parts, DIST, name)}\n`);
