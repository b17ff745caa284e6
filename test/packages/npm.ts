// The npm packages of a release, installed without a network: the chooser takes the client for this machine from the
// files beside it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT, RELEASE } from '../../scripts/release/places.ts';
import { FIRST_USE, inUse } from './in-use.ts';

/** `folder` is empty. */
export function tryNpm(folder: string): void {
  const [prefix, use] = [join(folder, 'prefix'), join(folder, 'use')];
  mkdirSync(use);
  const packages = [
    `assay-${PROJECT.version}.tgz`,
    `assay-server-${PROJECT.version}-linux-${process.arch}.tgz`,
  ];
  const script = `
    exec 2>&1
    ip link set lo up
    cd ${RELEASE}
    npm install --global --no-audit --no-fund --prefix ${prefix} ${packages.map((name) => `./${name}`).join(' ')}
    export PATH=${prefix}/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=${folder}
    ${inUse(`assay-server serve --store ${join(folder, 'served')}`, use)}`;
  const said = execFileSync('unshare', ['--net', 'sh', '-euc', script], { encoding: 'utf8' });
  assert.match(said, FIRST_USE);
  assert.deepEqual(readdirSync(join(prefix, 'lib/node_modules')).sort(), ['assay', 'assay-server']);
}
