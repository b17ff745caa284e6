// The files of packaging/ are right by themselves: scripts parse, the service is confined, the configuration of a fresh
// server is one that the server takes, and pages name the files of this version.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PROJECT } from '../../scripts/release/places.ts';
import { parseConfig } from '../../server/config/file.ts';

const ROOT = join(import.meta.dirname, '../..');
const DEBIAN = join(ROOT, 'packaging/debian');
const UNIT = join(DEBIAN, 'assay-server.service');

test('the scripts are scripts', () => {
  const scripts = readdirSync(DEBIAN).filter((name) => /\.(postinst|prerm|postrm)$/.test(name));
  expect(scripts).toHaveLength(3);
  for (const name of scripts) {
    execFileSync('sh', ['-n', join(DEBIAN, name)]);
    expect(statSync(join(DEBIAN, name)).mode & 0o111).not.toBe(0);
    expect(readFileSync(join(DEBIAN, name), 'utf8')).toMatch(/^#!\/bin\/sh\n# .*\nset -e\n/);
  }
});

test('the service is exposed less than 2.5, by systemd’s own count', () => {
  const report = execFileSync('systemd-analyze', ['security', '--offline=true', UNIT], { encoding: 'utf8' });
  const [, exposure] = /Overall exposure level for assay-server.service: ([0-9.]+)/.exec(report) ?? [];
  expect(Number(exposure)).toBeLessThan(2.5);
});

test('the configuration of a fresh server is one that it takes', () => {
  const file = join(DEBIAN, 'server.jsonc');
  expect(() => parseConfig(file, readFileSync(file, 'utf8'))).not.toThrow();
});

test.each(['docs/INSTALL.md', 'packaging/compose.yaml'])('%s names the files of this version', (path) => {
  const text = readFileSync(join(ROOT, path), 'utf8');
  const versions = [...text.matchAll(/assay(?:-server|-oci|\/assay)?[_:-](\d+\.\d+\.\d+)/g)].map(
    ([, version]) => version,
  );
  expect(versions.length).toBeGreaterThan(1);
  expect(new Set(versions)).toEqual(new Set([PROJECT.version]));
});
