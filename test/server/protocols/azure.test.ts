// Azure Blob Storage as lage 2.17 uses it: blocks, then a list of them.
import { describe, expect, test } from 'vitest';
import { STORE } from '../../../store/limits.ts';
import { contentOf } from '../../store/content.ts';
import { EVERYBODY } from '../access/identities.ts';
import { ask, testServer } from '../rig.ts';
import { describeOpaque } from './contract.ts';

const BLOB = '/azure/team/da39a3ee5e6b4b0d3255bfef95601890afd80709';

describeOpaque({
  name: 'azure',
  path: BLOB,
  elsewhere: BLOB.replace('team', 'other'),
  other: BLOB.replace('da39', 'da40'),
  astray: ['/azure/', '/azure/team', '/azure/team/', `${BLOB}?comp=odd`],
  stored: 201,
  second: { status: 201, stays: 'second' },
});

describe('Azure’s protocol', () => {
  test('accepts blocks in any order, and stores nothing before their list', async () => {
    const server = await testServer();
    const url = server.url + BLOB;
    const blocks = [contentOf('0', 10), contentOf('1', STORE.chunkBytes + 1)];
    for (const n of [1, 0]) {
      const body = blocks[n] ?? Buffer.alloc(0);
      expect(await ask(`${url}?comp=block&blockid=YmxvY2st${n}`, 'PUT', { body })).toMatchObject({
        status: 201,
      });
    }
    expect(await ask(url)).toMatchObject({ status: 404 });
    const list = '<BlockList><Latest>YmxvY2st0</Latest><Latest>YmxvY2st1</Latest></BlockList>';
    expect(await ask(`${url}?comp=blocklist`, 'PUT', { body: Buffer.from(list) })).toMatchObject({
      status: 201,
    });
    expect((await ask(url)).body.equals(Buffer.concat(blocks))).toBe(true);
  });

  test('takes the blocks of the own namespace alone', async () => {
    const server = await testServer({ identities: EVERYBODY });
    const put = (name: string, query: string, body: string) =>
      ask(`${server.url}${BLOB}?comp=${query}`, 'PUT', {
        headers: { authorization: `Bearer ${name}` },
        body: Buffer.from(body),
      });
    for (const id of ['YQ', 'Yg'])
      expect(await put('main', `block&blockid=${id}`, 'of main')).toMatchObject({ status: 201 });
    expect(await put('pull', 'block&blockid=YQ', 'of the pull request')).toMatchObject({ status: 201 });
    const list = '<BlockList><Latest>YQ</Latest><Latest>Yg</Latest></BlockList>';
    const mixed = await put('pull', 'blocklist', list);
    expect([mixed.status, mixed.body.toString()]).toEqual([409, expect.stringContaining('not uploaded')]);
    expect(await put('main', 'blocklist', list)).toMatchObject({ status: 201 });
  });

  test('refuses a list that names one block more than 64 times', async () => {
    const server = await testServer();
    const url = server.url + BLOB;
    await ask(`${url}?comp=block&blockid=YQ`, 'PUT', { body: Buffer.from('x') });
    const list = (count: number) =>
      Buffer.from(`<BlockList>${'<Latest>YQ</Latest>'.repeat(count)}</BlockList>`);
    expect(await ask(`${url}?comp=blocklist`, 'PUT', { body: list(65) })).toMatchObject({ status: 413 });
    expect(await ask(`${url}?comp=blocklist`, 'PUT', { body: list(64) })).toMatchObject({ status: 201 });
    expect((await ask(url)).body.toString()).toBe('x'.repeat(64));
  });

  /** An ambiguous pattern would take minutes for this, and hours for the largest list. */
  test.each([
    ['white space', ' '.repeat(200_000)],
    ['white space after a declaration', `<?xml version="1.0"?>${' '.repeat(200_000)}`],
    ['white space in a list', `<BlockList><Latest>AAAA${' '.repeat(200_000)}`],
    ['nested lists', '<BlockList>'.repeat(20_000)],
    ['many end tags', `<BlockList>${'</BlockList> '.repeat(20_000)}x`],
  ])('refuses %s instead of a list, quickly', async (_name, list) => {
    const server = await testServer();
    const answer = await ask(`${server.url}${BLOB}?comp=blocklist`, 'PUT', { body: Buffer.from(`${list}x`) });
    expect(answer).toMatchObject({ status: 400 });
  });

  test('accepts a list with an XML declaration and white space', async () => {
    const server = await testServer();
    const url = server.url + BLOB;
    await ask(`${url}?comp=block&blockid=YQ`, 'PUT', { body: Buffer.from('x') });
    const list =
      '\n<?xml version="1.0" encoding="utf-8"?>\n <BlockList>\n <Latest> YQ </Latest>\n</BlockList>\n';
    expect(await ask(`${url}?comp=blocklist`, 'PUT', { body: Buffer.from(list) })).toMatchObject({
      status: 201,
    });
    expect((await ask(url)).body.toString()).toBe('x');
  });

  test('accepts the token as a shared access signature', async () => {
    const server = await testServer({ token: 'a-long-token-0123456789' });
    const url = server.url + BLOB;
    expect(await ask(`${url}?sig=a-long-token-0123456789`)).toMatchObject({ status: 404 });
    expect(await ask(`${url}?sig=another`)).toMatchObject({ status: 401 });
    const headers = { authorization: 'SharedKey account:c2lnbmF0dXJl' };
    expect(await ask(url, 'GET', { headers })).toMatchObject({ status: 401 });
    expect(server.logged()).not.toContain('a-long-token-0123456789');
  });

  test.each(['?restype=container&comp=list', '?comp=metadata'])('refuses %s as a blob', async (query) => {
    const server = await testServer();
    await ask(server.url + BLOB, 'PUT', { body: Buffer.from('x') });
    expect(await ask(server.url + BLOB + query)).toMatchObject({ status: 400 });
    expect(await ask(server.url + BLOB + query, 'PUT', { body: Buffer.from('y') })).toMatchObject({
      status: 400,
    });
    expect((await ask(server.url + BLOB)).body.toString()).toBe('x');
  });
});
