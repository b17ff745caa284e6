// Turborepo's remote cache: the requests besides artifacts, and the headers that are returned with them.
import { describe, expect, test } from 'vitest';
import { contentOf } from '../../store/content.ts';
import { ask, codeIn, testServer } from '../rig.ts';
import { describeOpaque } from './contract.ts';

const HASH = '0123456789abcdef';
const PATH = `/v8/artifacts/${HASH}`;

describeOpaque({
  name: 'turbo',
  path: `${PATH}?slug=team`,
  elsewhere: `${PATH}?teamId=team_other`,
  other: '/v8/artifacts/fedcba9876543210?slug=team',
  astray: ['/v8/artifacts/', '/v8/artifacts/a/b', '/turbo/x', `${PATH}?slug=a%2F..%2Fb`],
  stored: 202,
  second: { status: 202, stays: 'first' },
});

describe('Turborepo', () => {
  test('gets its signature and the duration back', async () => {
    const server = await testServer();
    const headers = {
      'x-artifact-duration': '1234',
      'x-artifact-tag': 'an-hmac+/=',
      'x-artifact-sha': 'c0ffee',
      'x-artifact-dirty-hash': 'beef',
    };
    await ask(server.url + PATH, 'PUT', { body: contentOf('artifact', 100), headers });
    for (const method of ['GET', 'HEAD'] as const) {
      expect(await ask(server.url + PATH, method)).toMatchObject({ status: 200, headers });
    }
  });

  test('learns which artifacts exist', async () => {
    const server = await testServer();
    const headers = { 'x-artifact-duration': '1234', 'x-artifact-tag': 'tag' };
    await ask(server.url + PATH, 'PUT', { body: contentOf('artifact', 100), headers });
    const body = Buffer.from(JSON.stringify({ hashes: [HASH, 'another'] }));
    const answer = await ask(`${server.url}/v8/artifacts?slug=`, 'POST', { body });
    expect(JSON.parse(answer.body.toString())).toEqual({
      [HASH]: { size: 100, taskDurationMs: 1234, tag: 'tag' },
      another: null,
    });
  });

  test.each(['', 'no JSON', 'null', '{}', '{"hashes":"abc"}', '{"hashes":[1]}', '{"hashes":["../x"]}'])(
    'gets an error for the query %j',
    async (text) => {
      const server = await testServer();
      const answer = await ask(`${server.url}/v8/artifacts`, 'POST', { body: Buffer.from(text) });
      expect([answer.status, codeIn(answer)]).toEqual([400, 'ASSAY_BAD_MESSAGE']);
    },
  );

  test('may query the status and send its events', async () => {
    const server = await testServer();
    const status = await ask(`${server.url}/v8/artifacts/status?slug=team`);
    expect(JSON.parse(status.body.toString())).toEqual({ status: 'enabled' });
    const body = Buffer.from('[{"sessionId":"1","source":"REMOTE","event":"HIT","hash":"a","duration":1}]');
    expect(await ask(`${server.url}/v8/artifacts/events`, 'POST', { body })).toMatchObject({ status: 200 });
  });

  test('may send its token after a preflight, but a web page may not', async () => {
    const server = await testServer({ token: 'a-long-token-0123456789' });
    const { status, headers } = await ask(server.url + PATH, 'OPTIONS');
    expect(status).toBe(200);
    expect(headers['access-control-allow-headers']).toContain('Authorization');
    expect(headers['access-control-allow-origin']).toBeUndefined();
  });
});
