// Action results in JSON over HTTP, as moon 2.4.6 sends them.
import { describe, expect, test } from 'vitest';
import { toWire } from '../../../core/digest.ts';
import { ActionResult } from '../../../core/proto/generated/reapi.ts';
import { addressOf, contentOf, putOne, resultWith } from '../../store/content.ts';
import { ask, codeIn, testServer } from '../rig.ts';

const { key } = addressOf('an action');
const SENT = { 'content-type': 'application/json' };
const ASKED = { accept: 'application/json' };

/** With moon's own fields of each file, which must come back unchanged. */
function resultFrom(hash: string) {
  const digest = { hash, sizeBytes: '100' };
  return {
    outputFiles: [
      {
        path: 'pkg/out/a.txt',
        digest,
        isExecutable: true,
        nodeProperties: { mtime: '2026-11-15T04:45:02.704762293Z', unixMode: 33188 },
      },
    ],
    exitCode: 3,
    stdoutRaw: Buffer.from('said').toString('base64'),
    stdoutDigest: digest,
    executionMetadata: { worker: 'moon', outputUploadStartTimestamp: '2026-11-15T04:45:02.714032947Z' },
    outputSymlinks: [{ path: 'pkg/out/link', target: 'a.txt' }],
  };
}

describe('a result in JSON', () => {
  test('is returned as JSON to moon, and as protobuf to other clients', async () => {
    const server = await testServer();
    const { hash } = await putOne(server.store, contentOf('output', 100));
    const url = `${server.url}/team/ac/${key}`;
    const sent = resultFrom(hash);
    const body = Buffer.from(JSON.stringify(sent));
    expect(await ask(url, 'PUT', { headers: SENT, body })).toMatchObject({ status: 200 });
    const inJson = await ask(url, 'GET', { headers: ASKED });
    expect(inJson.headers['content-type']).toBe('application/json');
    expect(JSON.parse(inJson.body.toString())).toEqual(sent);
    const { outputFiles, exitCode, executionMetadata } = ActionResult.decode((await ask(url)).body);
    expect(outputFiles[0]).toMatchObject({
      path: 'pkg/out/a.txt',
      digest: { hash, sizeBytes: 100 },
      nodeProperties: { unixMode: 33188, mtime: { seconds: 1_794_717_902, nanos: 704_762_293 } },
    });
    expect([exitCode, executionMetadata?.worker]).toEqual([3, 'moon']);
  });

  test('is also served for a result that was stored as protobuf', async () => {
    const server = await testServer();
    const digest = toWire(await putOne(server.store, contentOf('output', 100)));
    await ask(`${server.url}/ac/${key}`, 'PUT', { body: resultWith({ stdoutDigest: digest }) });
    const answer = await ask(`${server.url}/ac/${key}`, 'GET', { headers: ASKED });
    expect(JSON.parse(answer.body.toString())).toEqual({
      stdoutDigest: { hash: digest.hash, sizeBytes: '100' },
    });
  });

  test('may spell names with underscores, sizes as numbers and times with an offset', async () => {
    const server = await testServer();
    const { hash } = await putOne(server.store, contentOf('output', 100));
    const sent = {
      stdout_digest: { hash, size_bytes: 100 },
      execution_metadata: { queued_timestamp: '2026-11-15T05:45:02+01:00' },
      exitCode: null,
    };
    const url = `${server.url}/ac/${key}`;
    const body = Buffer.from(JSON.stringify(sent));
    expect(await ask(url, 'PUT', { headers: SENT, body })).toMatchObject({ status: 200 });
    expect(JSON.parse((await ask(url, 'GET', { headers: ASKED })).body.toString())).toEqual({
      stdoutDigest: { hash, sizeBytes: '100' },
      executionMetadata: { queuedTimestamp: '2026-11-15T04:45:02.000000000Z' },
    });
  });

  test.each([
    'no JSON',
    '[]',
    'null',
    '7',
    '{"outputFiles":{}}',
    '{"outputFiles":[{"path":1}]}',
    '{"outputFiles":[null]}',
    '{"somethingNew":1}',
    '{"exitCode":1.5}',
    '{"exitCode":2147483648}',
    '{"exitCode":"a"}',
    '{"stdoutDigest":{"hash":"x","sizeBytes":"-1"}}',
    '{"outputSymlinks":[{"path":"\\ud800"}]}',
    '{"executionMetadata":{"queuedTimestamp":"yesterday"}}',
    '{"executionMetadata":{"queuedTimestamp":7}}',
    '{"stdoutRaw":7}',
    '{"__proto__":{"exitCode":1}}',
  ])('is refused when it is %s', async (text) => {
    const server = await testServer();
    const answer = await ask(`${server.url}/ac/${key}`, 'PUT', { headers: SENT, body: Buffer.from(text) });
    expect(answer.status).toBe(400);
    expect(['ASSAY_RESULT_MALFORMED', 'ASSAY_BAD_DIGEST']).toContain(codeIn(answer));
  });
});
