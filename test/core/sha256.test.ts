import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { SMALL_HASH } from '../../core/limits.ts';
import { smallSha256 } from '../../core/small-sha256.ts';
import { Random } from './random.ts';

const openssl = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

describe('SHA-256 in JavaScript', () => {
  test.each([
    ['', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
    ['abc', 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'],
    [
      'abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq',
      '248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1',
    ],
  ])('of the standard’s %j', (text, hash) => {
    expect(smallSha256(Buffer.from(text))).toBe(hash);
  });

  test('is OpenSSL’s at every length around the blocks, for random bytes (seed 29)', () => {
    const random = new Random(29);
    for (let length = 0; length <= 512; length++) {
      const bytes = random.bytes(length);
      expect(smallSha256(bytes)).toBe(openssl(bytes));
    }
  });

  test('is OpenSSL’s at the largest size that is hashed this way', () => {
    const bytes = new Random(31).bytes(SMALL_HASH.totalBytes);
    expect(smallSha256(bytes)).toBe(openssl(bytes));
  });

  test('reads the bytes of a view, not of what lies behind it', () => {
    const behind = Buffer.from('xxabcxx');
    expect(smallSha256(behind.subarray(2, 5))).toBe(smallSha256(Buffer.from('abc')));
    expect(smallSha256(new Uint8Array(behind.subarray(2, 5)))).toBe(smallSha256(Buffer.from('abc')));
  });
});

describe('a fresh process', () => {
  const source = join(import.meta.dirname, '../../core/sha256.ts');

  test('hashes a little without loading OpenSSL, and loads it when more comes', () => {
    expect(run('check(1000); say(); check(1000); say();')).toEqual([false, false]);
    expect(run(`check(${SMALL_HASH.totalBytes}); say(); check(1); say();`)).toEqual([false, true]);
    expect(run(`check(${SMALL_HASH.totalBytes + 1}); say();`)).toEqual([true]);
    expect(run('nodeCrypto(); say(); check(10); say();')).toEqual([true, true]);
  });

  /** `check` compares with the known hash of that many zeros; `say` tells whether OpenSSL is loaded. */
  function run(script: string): boolean[] {
    const sizes = [...script.matchAll(/check\((\d+)\)/g)].map(([, size]) => Number(size));
    const known = Object.fromEntries(sizes.map((size) => [size, openssl(Buffer.alloc(size))]));
    const program = `
      const { sha256, nodeCrypto } = await import(${JSON.stringify(source)});
      const said = [];
      const say = () => said.push(process.moduleLoadList.includes('NativeModule crypto'));
      const check = (size) => {
        if (sha256(Buffer.alloc(size)) !== ${JSON.stringify(known)}[size]) throw new Error('wrong hash');
      };
      ${script}
      process.stdout.write(JSON.stringify(said));`;
    return JSON.parse(
      execFileSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' }),
    );
  }
});
