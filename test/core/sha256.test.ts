import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { SMALL_HASH } from '../../core/limits.ts';

const openssl = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

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
