// The files of the Debian packages are right by themselves: scripts parse, the service is confined, and the
// configuration of a fresh server is one that the server takes.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseConfig } from '../../server/config/file.ts';

const DEBIAN = join(import.meta.dirname, '../../packaging/debian');
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
