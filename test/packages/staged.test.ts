// What the Debian packages and the container image would hold is whole, by the files of the last build: paths that
// belong together are there, and the programs start where nothing else is. `npm run test:packages` installs the packages.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DEBIAN_PACKAGES, stageDeb } from '../../scripts/release/deb.ts';
import { kindOf } from '../../scripts/release/kinds.ts';
import { stageImage } from '../../scripts/release/oci.ts';
import { partsFor } from '../../scripts/release/parts.ts';
import { PROJECT } from '../../scripts/release/places.ts';
import { runProcess } from '../rig/assay.ts';
import { writeFiles } from '../rig/folders.ts';
import { ServerProcess } from '../rig/server.ts';
import { AS_ROOT } from '../rig/users.ts';

const STAGING_MS = 600_000;
const MADE = new Date('2026-11-19T00:00:00Z');
const kind = kindOf(process.arch);
const parts = partsFor(kind);

let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'assay-staged-'));
});
afterEach(() => rmSync(root, { recursive: true }));

const inside = (path: string) => join(root, path);
const alone = (...command: string[]) => runProcess(command, { cwd: '/', env: {} });
const version = { code: 0, stdout: `assay ${PROJECT.version}\n`, stderr: '' };

describe.each(DEBIAN_PACKAGES.map((one) => [one.name, one] as const))('the Debian package %s', (_, one) => {
  test('is whole', { timeout: STAGING_MS }, async () => {
    stageDeb(root, one, parts, MADE);
    execFileSync('md5sum', ['--check', '--quiet', 'DEBIAN/md5sums'], { cwd: root });
    const paths = readdirSync(root, { recursive: true, encoding: 'utf8' });
    expect(paths.filter((path) => isStrangerWritable(inside(path)))).toEqual([]);
    expect(paths.filter((path) => !existsSync(inside(path)))).toEqual([]); // links lead somewhere
    const docs = `usr/share/doc/${one.name}`;
    for (const name of ['copyright', 'changelog.gz', 'NEWS.gz', 'NOTICES.gz', 'pages/docs/INSTALL.md'])
      expect(paths).toContain(`${docs}/${name}`);
    expect(paths).toContain(`usr/share/man/man1/${one.name}.1.gz`);
    const file = `${root}.deb`;
    execFileSync('dpkg-deb', ['--root-owner-group', '-Znone', '--build', root, file], { stdio: 'ignore' });
    const fields = execFileSync('dpkg-deb', ['--field', file, 'Package', 'Version', 'Architecture'], {
      encoding: 'utf8',
    });
    rmSync(file);
    expect(fields).toBe(`Package: ${one.name}\nVersion: ${PROJECT.version}\nArchitecture: ${kind.debian}\n`);
    expect(await alone(inside(`usr/bin/${one.name}`), '--version')).toMatchObject(version);
  });
});

test('the service, the configuration and the scripts of the server name what its package brings', {
  timeout: STAGING_MS,
}, () => {
  for (const one of DEBIAN_PACKAGES.filter(({ name }) => name === 'assay-server'))
    stageDeb(root, one, parts, MADE);
  const unit = readFileSync(inside('lib/systemd/system/assay-server.service'), 'utf8');
  const [, program = '', config = ''] = /^ExecStart=(\S+) serve --config (\S+)$/m.exec(unit) ?? [];
  expect(lstatSync(inside(program)).isSymbolicLink()).toBe(true);
  expect(readFileSync(inside('DEBIAN/conffiles'), 'utf8')).toBe(`${config}\n`);
  const [, schema = ''] = /"\$schema": "(.*)"/.exec(readFileSync(inside(config), 'utf8')) ?? [];
  expect(JSON.parse(readFileSync(inside(schema), 'utf8'))).toHaveProperty('title');
  for (const script of ['postinst', 'prerm', 'postrm'])
    expect(lstatSync(inside(`DEBIAN/${script}`)).mode & 0o777).toBe(0o755);
});

test('an installed server has the documentation that its package brings', {
  timeout: STAGING_MS,
}, async () => {
  const docs = inside('made');
  writeFiles(docs, { 'index.html': '<h1>Home</h1>', 'files.json': [{ path: 'index.html', scripts: [] }] });
  const withDocs = { ...parts, docs };
  for (const one of DEBIAN_PACKAGES.filter(({ name }) => name === 'assay-server')) {
    mkdirSync(inside('deb'));
    stageDeb(inside('deb'), one, withDocs, MADE);
  }
  stageImage(inside('image'), withDocs);
  for (const place of ['deb', 'image']) {
    const program = [inside(`${place}/usr/lib/assay/assay-server`)];
    const server = await ServerProcess.start(inside(`${place}/store`), { program });
    try {
      expect(await (await fetch(`${server.url}/docs/`)).text(), place).toBe('<h1>Home</h1>');
    } finally {
      await server.stop();
    }
  }
});

test('the image has every library that its server needs', { timeout: STAGING_MS }, async () => {
  stageImage(root, parts);
  chmodSync(root, 0o755);
  const anyUser = [...AS_ROOT, '/usr/sbin/chroot', '--userspec=23456:23456', root];
  expect(await alone(...anyUser, '/usr/bin/assay-server', '--version')).toMatchObject(version);
  const help = await alone(...anyUser, '/usr/bin/assay', 'help', 'server');
  expect(help).toMatchObject({ code: 0, stdout: expect.stringMatching(/^# Running a server$/m) });
  expect(lstatSync(inside('var/lib/assay')).mode & 0o7777).toBe(0o1777);
});

function isStrangerWritable(path: string): boolean {
  const stats = lstatSync(path);
  return !stats.isSymbolicLink() && (stats.mode & 0o022) !== 0;
}
