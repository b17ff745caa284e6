// A release is right only if its list is signed by the given key and each file has the listed digest.
import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { verifyReleaseCommand } from '../command.ts';
import { verifyRelease } from '../release.ts';

const maker = generateKeyPairSync('ed25519');
const stranger = generateKeyPairSync('ed25519');

let folder = '';
let release = '';
let key = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-release-'));
  release = mkdtempSync(join(folder, 'release-'));
  key = join(folder, 'maker.pub');
  writeFileSync(key, maker.publicKey.export({ type: 'spki', format: 'pem' }));
  put('assay.deb', 'client');
  put('assay-server.deb', 'server');
  list({ 'assay.deb': 'client', 'assay-server.deb': 'server' });
});
afterEach(() => rmSync(folder, { recursive: true }));

const put = (name: string, content: string) => writeFileSync(join(release, name), content);

function list(files: Readonly<Record<string, string>>, privateKey: KeyObject = maker.privateKey): void {
  const digest = (content: string) => createHash('sha256').update(content).digest('hex');
  const lines = Object.entries(files).map(([name, content]) => `${digest(content)}  ${name}\n`);
  put('SHA256SUMS', lines.join(''));
  put('SHA256SUMS.sig', `${sign(null, Buffer.from(lines.join('')), privateKey).toString('base64')}\n`);
}

const refusal = (text: string) => ({ code: 'ASSAY_RELEASE', detail: expect.stringContaining(text) });

test('files that the maker signed are right', async () => {
  const names = ['assay.deb', 'assay-server.deb'];
  expect(await verifyRelease(release, key)).toEqual({ signed: true, right: names, missing: [] });
});

test('a file that was not downloaded is named', async () => {
  rmSync(join(release, 'assay.deb'));
  expect(await verifyRelease(release, key)).toMatchObject({ missing: ['assay.deb'] });
  rmSync(join(release, 'assay-server.deb'));
  await expect(verifyRelease(release, key)).rejects.toMatchObject(refusal('has no file'));
});

test('a changed file is refused', async () => {
  put('assay.deb', 'clienT');
  await expect(verifyRelease(release, key)).rejects.toMatchObject(refusal('assay.deb has not the digest'));
});

test('a file that is not listed is refused', async () => {
  put('more.deb', 'more');
  await expect(verifyRelease(release, key)).rejects.toMatchObject(refusal('does not list more.deb'));
});

test('a list that somebody else signed is refused, and one without a signature', async () => {
  list({ 'assay.deb': 'client', 'assay-server.deb': 'server' }, stranger.privateKey);
  await expect(verifyRelease(release, key)).rejects.toMatchObject(refusal('not by the given key'));
  put('SHA256SUMS.sig', 'no base64 !');
  await expect(verifyRelease(release, key)).rejects.toMatchObject(refusal('not by the given key'));
  rmSync(join(release, 'SHA256SUMS.sig'));
  await expect(verifyRelease(release, key)).rejects.toMatchObject(refusal('is not signed'));
});

test('a line about a file elsewhere, or a second one about the same file, is refused', async () => {
  list({ '../assay.deb': 'client' });
  await expect(verifyRelease(release, key)).rejects.toMatchObject(refusal('should not have'));
  put('SHA256SUMS', `${'0'.repeat(64)}  assay.deb\n${'0'.repeat(64)}  assay.deb\n`);
  await expect(verifyRelease(release, undefined)).rejects.toMatchObject(refusal('should not have'));
});

test('without a key, the digests are compared and nothing is said to be signed', async () => {
  rmSync(join(release, 'SHA256SUMS.sig'));
  expect(await verifyRelease(release, undefined)).toMatchObject({ signed: false });
});

test('the caller says whether a signature is wanted', async () => {
  const wanted = { code: 'ASSAY_USAGE', detail: expect.stringContaining('either --key FILE') };
  await expect(verifyReleaseCommand.main([release])).rejects.toMatchObject(wanted);
  await expect(verifyReleaseCommand.main([release, '--unsigned', '--key', key])).rejects.toMatchObject(
    wanted,
  );
});

test('a private key, another kind of key and something else are no public key', async () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
  for (const [content, said] of [
    [maker.privateKey.export({ type: 'pkcs8', format: 'pem' }), 'is a private key'],
    [rsa.publicKey.export({ type: 'spki', format: 'pem' }), 'is no Ed25519 public key'],
    ['nothing', 'is no public key as PEM'],
  ] as const) {
    writeFileSync(key, content);
    await expect(verifyRelease(release, key)).rejects.toMatchObject({
      code: 'ASSAY_USAGE',
      detail: expect.stringContaining(said),
    });
  }
});
