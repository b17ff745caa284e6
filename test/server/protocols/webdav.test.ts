// WebDAV as sccache 0.17 uses it: it sends PROPFIND for a folder before each PUT, and may double a slash.
import { describe, expect, test } from 'vitest';
import { contentOf } from '../../store/content.ts';
import { ask, testServer } from '../rig.ts';
import { describeOpaque } from './contract.ts';

const FILE = `/webdav/prefix/a/6/2/a62${'0'.repeat(61)}`;

describeOpaque({
  name: 'webdav',
  path: FILE,
  elsewhere: FILE.replace('prefix', 'other'),
  other: FILE.replace('a62', 'a63'),
  astray: [`/webdav/${'x'.repeat(1025)}`],
  stored: 201,
  second: { status: 201, stays: 'second' },
});

describe('WebDAV', () => {
  test.each(['/webdav/', '/webdav/any/folder/', '/webdav//any//folder/'])('has a folder %s', async (path) => {
    const server = await testServer();
    const answer = await ask(server.url + path, 'PROPFIND', { headers: { depth: '0' } });
    expect(answer.status).toBe(207);
    expect(answer.body.toString()).toContain('<D:collection/>');
    expect(await ask(server.url + path, 'MKCOL')).toMatchObject({ status: 201 });
  });

  test('treats a doubled slash as one', async () => {
    const server = await testServer();
    const bytes = contentOf('file', 100);
    await ask(server.url + FILE.replace('/prefix/', '//prefix//'), 'PUT', { body: bytes });
    expect((await ask(server.url + FILE)).body.equals(bytes)).toBe(true);
  });

  test('returns the size of an existing file', async () => {
    const server = await testServer();
    expect(await ask(server.url + FILE, 'PROPFIND')).toMatchObject({ status: 404 });
    await ask(server.url + FILE, 'PUT', { body: contentOf('file', 100) });
    const answer = await ask(server.url + FILE, 'PROPFIND');
    expect(answer.body.toString()).toContain('<D:getcontentlength>100</D:getcontentlength>');
  });

  test('refuses MKCOL on a read-only server', async () => {
    const server = await testServer({ readOnly: true });
    expect(await ask(`${server.url}/webdav/new/`, 'MKCOL')).toMatchObject({ status: 403 });
  });

  test('answers sccache’s start-up requests', async () => {
    const server = await testServer({ token: 'a-long-token-0123456789' });
    const headers = {
      authorization: `Basic ${Buffer.from('user:a-long-token-0123456789').toString('base64')}`,
    };
    const check = `${server.url}/webdav/prefix/.sccache_check`;
    expect(await ask(check, 'GET', { headers })).toMatchObject({ status: 404 });
    expect(await ask(`${server.url}/webdav/prefix/`, 'PROPFIND', { headers })).toMatchObject({ status: 207 });
    for (const _time of [1, 2]) {
      expect(await ask(check, 'PUT', { headers, body: Buffer.from('Hello, World!') })).toMatchObject({
        status: 201,
      });
    }
  });
});
