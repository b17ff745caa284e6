// Results over gRPC: complete, unchanged, per namespace, with the requested content inlined.
import { describe, expect, test } from 'vitest';
import { digestOf, EMPTY, toWire } from '../../../../core/digest.ts';
import { encodeField } from '../../../../core/edit-message.ts';
import { ActionResult } from '../../../../core/proto/generated/reapi.ts';
import { RequestMetadata } from '../../../../core/proto/generated/reapi-services.ts';
import { contentOf, outputFile, resultNaming, resultWith } from '../../../store/content.ts';
import { only, reapiServer } from './rig.ts';

const KEY = digestOf(Buffer.from('an action'));
const OUTPUT = contentOf('an output', 100);
const LOG = contentOf('a log', 50);

test('a result is returned as it was sent, including unknown fields and node_properties', async () => {
  const { client } = await reapiServer();
  const [output = EMPTY] = await client.put(OUTPUT);
  const known = resultWith({
    outputFiles: [
      {
        ...outputFile('out', output),
        nodeProperties: {
          properties: [{ name: 'colour', value: 'red' }],
          mtime: { seconds: 1_700_000_000, nanos: 5 },
          unixMode: 0o755,
        },
      },
    ],
  });
  const sent = Buffer.concat([known, encodeField(1000, Buffer.from('from the future'))]);
  expect(await client.updateResult(KEY, sent)).toMatchObject({ status: 'OK' });
  const answer = await client.getResult(KEY);
  expect(answer.messages[0]).toEqual(sent);
});

test('a missing result is NOT_FOUND, and so is one of another instance', async () => {
  const { client } = await reapiServer();
  await client.put(OUTPUT);
  await client.in('some/project').updateResult(KEY, resultNaming(digestOf(OUTPUT)));
  expect(await client.getResult(KEY)).toMatchObject({ status: 'NOT_FOUND' });
  expect(await client.in('some').getResult(KEY)).toMatchObject({ status: 'NOT_FOUND' });
  expect(await client.in('some/project').getResult(KEY)).toMatchObject({ status: 'OK' });
});

test('an instance is the same namespace as over HTTP', async () => {
  const { client, server } = await reapiServer();
  await client.put(OUTPUT);
  await client.in('some/project').updateResult(KEY, resultNaming(digestOf(OUTPUT)));
  expect((await fetch(`${server.url}/some/project/ac/${KEY.hash}`)).status).toBe(200);
});

test('a result that references a missing blob is refused', async () => {
  const { client } = await reapiServer();
  const answer = await client.updateResult(KEY, resultNaming(digestOf(OUTPUT)));
  expect(answer).toMatchObject({ status: 'FAILED_PRECONDITION' });
  expect(answer.message).toMatch(/^ASSAY_RESULT_INCOMPLETE: missing: [0-9a-f]{64}/);
  expect(await client.getResult(KEY)).toMatchObject({ status: 'NOT_FOUND' });
});

test('a result whose inlined content does not match its digest is refused', async () => {
  const { client } = await reapiServer();
  const [output = EMPTY] = await client.put(OUTPUT);
  const carrying = (contents: Buffer) =>
    resultWith({ outputFiles: [{ ...outputFile('out', output), contents }] });
  expect(await client.updateResult(KEY, carrying(LOG))).toMatchObject({ status: 'INVALID_ARGUMENT' });
  expect(await client.getResult(KEY)).toMatchObject({ status: 'NOT_FOUND' });
  expect(await client.updateResult(KEY, carrying(OUTPUT))).toMatchObject({ status: 'OK' });
});

test('a different result for a key is reported and does not replace the first', async () => {
  const { client } = await reapiServer();
  const [first = EMPTY, second = EMPTY] = await client.put(OUTPUT, LOG);
  await client.updateResult(KEY, resultNaming(first));
  const answer = await client.updateResult(KEY, resultNaming(second));
  expect(answer).toMatchObject({ status: 'OK', headers: { 'assay-outcome': 'diverged' } });
  expect((await client.getResult(KEY)).messages[0]).toEqual(resultNaming(first));
});

describe('inlined content', () => {
  const wanted = { inlineStdout: true, inlineStderr: true, inlineOutputFiles: ['small', 'not there'] };

  test('is only what was requested and is small, and nothing else changes', async () => {
    const { client } = await reapiServer();
    const large = contentOf('large', 2 * 1024 * 1024);
    const digests = [digestOf(OUTPUT), digestOf(LOG), digestOf(large)] as const;
    await client.put(OUTPUT, LOG, large);
    const sent = Buffer.concat([
      resultWith({
        outputFiles: [outputFile('other', digests[0]), outputFile('small', digests[0])],
        stdoutDigest: toWire(digests[1]),
        stderrDigest: toWire(digests[2]),
      }),
      encodeField(1000, Buffer.from('from the future')),
    ]);
    await client.updateResult(KEY, sent);
    const result = only(ActionResult, await client.getResult(KEY, wanted));
    expect(result.outputFiles.map(({ contents }) => contents)).toEqual([Buffer.alloc(0), OUTPUT]);
    expect(result.stdoutRaw).toEqual(LOG);
    expect(result.stderrRaw).toHaveLength(0);
    expect(result._unknownFields).toEqual(ActionResult.decode(sent)._unknownFields);
    expect((await client.getResult(KEY)).messages[0]).toEqual(sent);
  });

  test('that the client sent inline is not stored twice', async () => {
    const { client } = await reapiServer();
    await client.put(LOG);
    const sent = resultWith({ stdoutRaw: Buffer.from('said'), stdoutDigest: toWire(digestOf(LOG)) });
    await client.updateResult(KEY, sent);
    expect((await client.getResult(KEY, wanted)).messages[0]).toEqual(sent);
  });
});

describe('the request metadata of the writer', () => {
  const origin = {
    ...RequestMetadata.decode(new Uint8Array(0)),
    toolDetails: { toolName: 'bazel', toolVersion: '4.2.3' },
    targetId: '//some:target',
    actionMnemonic: 'Genrule',
    toolInvocationId: 'an invocation',
  };
  const header = Buffer.from(RequestMetadata.encode(origin).finish()).toString('base64');
  const headers = { 'build.bazel.remote.execution.v2.requestmetadata-bin': header };

  test.each([
    ['without metadata', resultWith({ exitCode: 3 })],
    [
      'with metadata',
      resultWith({ exitCode: 3, executionMetadata: { worker: 'me', auxiliaryMetadata: [] } }),
    ],
  ])('is stored with the result: %s', async (_name, sent) => {
    const { client } = await reapiServer();
    const answer = await client.updateResult(KEY, sent, headers);
    expect(answer.messages[0]).toEqual(sent);
    const { executionMetadata, ...rest } = only(ActionResult, await client.getResult(KEY));
    const { executionMetadata: metadataSent, ...restSent } = ActionResult.decode(sent);
    const [note] = executionMetadata?.auxiliaryMetadata ?? [];
    expect(note?.typeUrl).toMatch(/\/build\.bazel\.remote\.execution\.v2\.RequestMetadata$/);
    expect(RequestMetadata.decode(note?.value ?? Buffer.alloc(0))).toMatchObject(origin);
    expect(rest).toEqual(restSent);
    expect(executionMetadata?.worker).toBe(metadataSent?.worker ?? '');
  });

  test('is not added if the result already has it, nor from an invalid header', async () => {
    const { client } = await reapiServer();
    await client.updateResult(KEY, resultWith({ exitCode: 3 }), headers);
    const noted = (await client.getResult(KEY)).messages[0] ?? Buffer.alloc(0);
    const other = digestOf(Buffer.from('another action'));
    await client.updateResult(other, noted, headers);
    expect((await client.getResult(other)).messages[0]).toEqual(noted);
    const third = digestOf(Buffer.from('a third action'));
    const broken = { 'build.bazel.remote.execution.v2.requestmetadata-bin': '/////w==' };
    await client.updateResult(third, resultWith({ exitCode: 3 }), broken);
    expect((await client.getResult(third)).messages[0]).toEqual(resultWith({ exitCode: 3 }));
  });
});
