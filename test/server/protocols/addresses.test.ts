// Paths are taken literally or refused: no two spellings name the same thing.
import { describe, expect, test } from 'vitest';
import { AssayError } from '../../../core/errors.ts';
import { type Address, kindOf, parseAddress } from '../../../server/protocols/bazel-http/address.ts';
import { codeIn, RawConnection, testServer } from '../rig.ts';

const HASH = 'a'.repeat(64);

function addressIn(url: string): Address | undefined {
  const kind = kindOf(url);
  return kind && parseAddress(url, kind);
}

test.each([
  [`/cas/${HASH}`, 'cas', ''],
  [`/ac/${HASH}`, 'ac', ''],
  [`/a/cas/${HASH}`, 'cas', 'a'],
  [`/a/b.c/d_e-f/ac/${HASH}`, 'ac', 'a/b.c/d_e-f'],
  [`/cas/cas/${HASH}`, 'cas', 'cas'],
  [`/ac/${HASH}/cas/${HASH}`, 'cas', `ac/${HASH}`],
])('%s is a valid path', (url, kind, namespace) => {
  expect(addressIn(url)).toEqual({ kind, namespace, hash: HASH });
});

test.each(['/', '/status', `/${HASH}`, `/cas${HASH}`, `/xcas/${HASH}`, `/cas/${HASH}/`, ''])(
  '%s is not a path of this protocol',
  (url) => {
    expect(kindOf(url)).toBeUndefined();
  },
);

test('the cached last namespace is not mistaken for another', () => {
  expect(addressIn(`/a/ac/${HASH}`)?.namespace).toBe('a');
  expect(addressIn(`/ac/${HASH}`)?.namespace).toBe('');
  expect(() => addressIn(`//ac/${HASH}`)).toThrow(AssayError);
  expect(addressIn(`/b/ac/${HASH}`)?.namespace).toBe('b');
});

const REFUSED: readonly (readonly [string, number, string])[] = [
  [`//cas/${HASH}`, 400, 'ASSAY_BAD_NAMESPACE'],
  [`/a//cas/${HASH}`, 400, 'ASSAY_BAD_NAMESPACE'],
  [`//a/cas/${HASH}`, 400, 'ASSAY_BAD_NAMESPACE'],
  [`/../cas/${HASH}`, 400, 'ASSAY_BAD_NAMESPACE'],
  [`/a/../b/ac/${HASH}`, 400, 'ASSAY_BAD_NAMESPACE'],
  [`/./cas/${HASH}`, 400, 'ASSAY_BAD_NAMESPACE'],
  [`/a%2fb/cas/${HASH}`, 400, 'ASSAY_BAD_NAMESPACE'],
  [`/%2e%2e/cas/${HASH}`, 400, 'ASSAY_BAD_NAMESPACE'],
  [`/%zz/cas/${HASH}`, 400, 'ASSAY_BAD_NAMESPACE'],
  [`/%63as/${HASH}`, 400, 'ASSAY_BAD_NAMESPACE'],
  [`/%`, 400, 'ASSAY_BAD_NAMESPACE'],
  [`/cas%2f${HASH}`, 400, 'ASSAY_BAD_NAMESPACE'],
  [`/a\\b/cas/${HASH}`, 400, 'ASSAY_BAD_NAMESPACE'],
  [`/a%00/cas/${HASH}`, 400, 'ASSAY_BAD_NAMESPACE'],
  [`/${'a'.repeat(256)}/cas/${HASH}`, 400, 'ASSAY_BAD_NAMESPACE'],
  [`http://elsewhere/cas/${HASH}`, 403, 'ASSAY_FOREIGN_HOST'],
  [`ftp://localhost/cas/${HASH}`, 400, 'ASSAY_BAD_NAMESPACE'],
  [`http://localhost//cas/${HASH}`, 400, 'ASSAY_BAD_NAMESPACE'],
  [`/cas/${HASH}/`, 400, 'ASSAY_BAD_NAMESPACE'],
  [`/cas/${HASH.toUpperCase()}`, 400, 'ASSAY_BAD_DIGEST'],
  [`/cas/${HASH}?x=1`, 400, 'ASSAY_BAD_DIGEST'],
  [`/cas/${HASH}a`, 400, 'ASSAY_BAD_DIGEST'],
  [`/cas/${HASH.slice(1)}`, 400, 'ASSAY_BAD_DIGEST'],
  ['/cas/', 400, 'ASSAY_BAD_DIGEST'],
  ['/ac/..', 400, 'ASSAY_BAD_DIGEST'],
  [`/cas/${HASH}%00`, 400, 'ASSAY_BAD_DIGEST'],
  [`/cas/%61${HASH.slice(1)}`, 400, 'ASSAY_BAD_DIGEST'],
  [`/cas/${HASH.slice(2)}/a`, 404, 'ASSAY_NOT_FOUND'],
  [`/x/${HASH.slice(6)}/cas/a`, 400, 'ASSAY_BAD_DIGEST'],
  ['/cas', 404, 'ASSAY_NOT_FOUND'],
  ['/favicon.ico', 404, 'ASSAY_NOT_FOUND'],
  [`/cache/${HASH}`, 404, 'ASSAY_NOT_FOUND'],
];

describe('a path that the server refuses', () => {
  test.each(REFUSED)('GET %s gets an error', async (url, status, code) => {
    const server = await testServer();
    const connection = await RawConnection.to(server);
    connection.send(`GET ${url} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`);
    const [head = '', body = ''] = (await connection.untilClosed()).split('\r\n\r\n');
    expect(head).toContain(`HTTP/1.1 ${status} `);
    expect(codeIn({ body: Buffer.from(body) })).toBe(code);
  });
});
