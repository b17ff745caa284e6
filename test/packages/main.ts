// `npm run test:packages`: tries the Debian packages of dist/release in a bare Debian, the npm packages without a network,
// and the image in a container. It ends with 1 at the first thing that does not hold. Needs root.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { progress } from '../../scripts/progress.ts';
import { kindOf } from '../../scripts/release/kinds.ts';
import { RELEASE } from '../../scripts/release/places.ts';
import { tryImage } from './image.ts';
import { FIRST_USE, inUse, LATER_USE } from './in-use.ts';
import { tryNpm } from './npm.ts';
import { Root } from './root.ts';

if (!existsSync(RELEASE)) throw new Error(`${RELEASE} is missing: run \`npm run release\``);
const { debian } = kindOf(process.arch);
const scratch = mkdtempSync(join(tmpdir(), 'assay-packages-'));
try {
  const debs = readdirSync(RELEASE).filter((name) => name.endsWith(`_${debian}.deb`));
  assert.deepEqual(
    debs.map((name) => name.replace(/_.*/, '')),
    ['assay-server', 'assay'],
  );
  progress('lintian');
  for (const name of readdirSync(RELEASE).filter((one) => one.endsWith('.deb')))
    execFileSync('lintian', ['--fail-on', 'error', join(RELEASE, name)], { stdio: ['ignore', 2, 2] });
  progress('making a bare Debian');
  using root = new Root();
  tryDebs(
    root,
    debs.map((name) => join(RELEASE, name)),
  );
  progress('the npm packages, without a network');
  tryNpm(mkdtempSync(join(scratch, 'npm-')));
  progress('the image, in a container');
  const images = readdirSync(RELEASE).filter((name) => /^assay-oci-.*\.tar$/.test(name));
  const [image = ''] = images.filter((name) => name.endsWith(`-${debian}.tar`));
  await tryImage(join(RELEASE, image), mkdtempSync(join(scratch, 'image-')));
  progress('all of it holds');
} finally {
  rmSync(scratch, { recursive: true });
}

function tryDebs(root: Root, debs: readonly string[]): void {
  const before = root.paths();
  progress('installing');
  root.run(`dpkg --install ${debs.map((file) => root.bring(file)).join(' ')}`);
  assert.match(root.run('stat -c %U:%a /var/lib/assay'), /^assay:750$/m);
  progress('a server with its documentation, a first result, and a hit elsewhere');
  assert.match(useIn(root, 'first'), FIRST_USE);
  progress('an upgrade with data');
  root.run(`echo '// mine' >> /etc/assay/server.jsonc`);
  const newer = debs.map((file) => root.bring(raised(file)));
  root.run(`dpkg --install --force-confold ${newer.join(' ')}`);
  assert.match(root.run('cat /etc/assay/server.jsonc'), /mine/);
  assert.match(useIn(root, 'second'), LATER_USE);
  progress('removed: data and configuration stay');
  root.run('dpkg --remove assay assay-server');
  // deb-systemd-helper remembers in /etc that the service was enabled, and masks it until it is purged.
  assert.deepEqual(
    [...root.paths().difference(before)].filter((path) => /^(usr|lib)\//.test(path)),
    [],
  );
  assert.match(root.run('cat /etc/assay/server.jsonc; ls /var/lib/assay'), /mine.*store/s);
  progress('purged: data stays, and is named');
  assert.match(root.run('dpkg --purge assay assay-server'), /stay in \/var\/lib\/assay/);
  const left = [...root.paths().difference(before)].filter((path) => !path.startsWith('var/lib/assay'));
  assert.deepEqual(
    left.filter((path) => !/^etc\/(passwd|group|shadow|gshadow)-$/.test(path)),
    [],
  );
}

/** The server as its service starts it. */
function useIn(root: Root, round: string): string {
  const unit = readFileSync(join(import.meta.dirname, '../../packaging/debian/assay-server.service'), 'utf8');
  const start = /^ExecStart=(.*)$/m.exec(unit)?.[1];
  const folder = `/tmp/${round}`;
  const asService = `setpriv --reuid=assay --regid=assay --clear-groups ${start}`;
  return root.run(`mkdir ${folder}\n${inUse(asService, folder)}`);
}

/** The same package as the next version. */
function raised(file: string): string {
  const folder = mkdtempSync(join(scratch, 'deb-'));
  execFileSync('dpkg-deb', ['--raw-extract', file, folder]);
  const control = join(folder, 'DEBIAN/control');
  writeFileSync(control, readFileSync(control, 'utf8').replace(/^Version: .*$/m, '$&+next'));
  const made = `${folder}.deb`;
  execFileSync('dpkg-deb', ['--root-owner-group', '-Znone', '--build', folder, made], { stdio: 'ignore' });
  return made;
}
