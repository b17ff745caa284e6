import { expect, test } from 'vitest';
import { digestOf, toWire } from '../../../../core/digest.ts';
import { ActionResult } from '../../../../core/proto/generated/reapi.ts';
import {
  GetActionResultRequest,
  UpdateActionResultRequest,
} from '../../../../core/proto/generated/reapi-services.ts';
import { emptyResult } from '../../../../core/result.ts';
import { readResultQuery, readResultUpdate } from '../../../../server/protocols/reapi/result-requests.ts';

const ACTION = digestOf(Buffer.from('an action'));

function encoded(request: Partial<GetActionResultRequest> = {}): Buffer {
  const message = { ...GetActionResultRequest.decode(Buffer.alloc(0)), ...request };
  return Buffer.from(GetActionResultRequest.encode(message).finish());
}

test('readResultQuery decodes what the protobuf library encodes', () => {
  const request = {
    instanceName: 'a/b',
    actionDigest: toWire(ACTION),
    inlineStdout: true,
    inlineStderr: true,
    inlineOutputFiles: ['out/a', 'out/ö'],
    digestFunction: 1 as const,
  };
  const { action, ...rest } = readResultQuery(encoded(request));
  const { actionDigest, ...asked } = request;
  expect({ hash: action.hash, size: action.size }).toEqual(ACTION);
  expect(rest).toEqual(asked);
});

test('readResultQuery uses the defaults for absent fields', () => {
  expect(readResultQuery(encoded({ actionDigest: toWire(ACTION) }))).toMatchObject({
    instanceName: '',
    digestFunction: 0,
    inlineStdout: false,
    inlineStderr: false,
    inlineOutputFiles: [],
  });
});

test('readResultQuery skips unknown fields', () => {
  const unknown = Buffer.from([0x7a, 2, 1, 2, 0x80, 1, 9]);
  const message = Buffer.concat([unknown, encoded({ actionDigest: toWire(ACTION) }), unknown]);
  expect(readResultQuery(message).action.hash).toBe(ACTION.hash);
});

test.each([
  ['no digest', encoded({ instanceName: 'a' }), 'ASSAY_BAD_DIGEST'],
  ['an invalid hash', encoded({ actionDigest: { hash: 'x'.repeat(64), sizeBytes: 1 } }), 'ASSAY_BAD_DIGEST'],
  ['a size below zero', encoded({ actionDigest: { hash: ACTION.hash, sizeBytes: -1 } }), 'ASSAY_BAD_DIGEST'],
  [
    'two digests',
    Buffer.concat([encoded({ actionDigest: toWire(ACTION) }), encoded({ actionDigest: toWire(ACTION) })]),
    'ASSAY_MESSAGE_MALFORMED',
  ],
  [
    'a truncated message',
    encoded({ actionDigest: toWire(ACTION) }).subarray(0, 40),
    'ASSAY_MESSAGE_MALFORMED',
  ],
  ['a name that exceeds the message', Buffer.from([0x0a, 9, 0x61]), 'ASSAY_MESSAGE_MALFORMED'],
  ['a field without a number', Buffer.from([0, 0]), 'ASSAY_MESSAGE_MALFORMED'],
])('readResultQuery refuses %s', (_what, message, code) => {
  expect(() => readResultQuery(message)).toThrow(expect.objectContaining({ code }));
});

const RESULT = Buffer.from(
  ActionResult.encode({ ...emptyResult(3), stdoutRaw: Buffer.from('out') }).finish(),
);

function encodedUpdate(request: Partial<UpdateActionResultRequest> = {}): Buffer {
  const message = { ...UpdateActionResultRequest.decode(Buffer.alloc(0)), ...request };
  return Buffer.from(UpdateActionResultRequest.encode(message).finish());
}

const UPDATE = { actionDigest: toWire(ACTION), actionResult: ActionResult.decode(RESULT) };

test('readResultUpdate decodes what the protobuf library encodes, and keeps the result as it was sent', () => {
  const cachePolicy = Buffer.from([0x22, 2, 8, 7]);
  const request = encodedUpdate({ ...UPDATE, instanceName: 'a/b', digestFunction: 1 });
  const update = readResultUpdate(Buffer.concat([cachePolicy, request]));
  expect({ hash: update.action.hash, size: update.action.size }).toEqual(ACTION);
  expect(update).toMatchObject({ instanceName: 'a/b', digestFunction: 1 });
  expect(Buffer.from(update.result)).toEqual(RESULT);
});

test.each([
  ['no digest', encodedUpdate({ actionResult: UPDATE.actionResult }), 'ASSAY_BAD_DIGEST'],
  ['no result', encodedUpdate({ actionDigest: UPDATE.actionDigest }), 'ASSAY_MESSAGE_MALFORMED'],
  [
    'two results',
    Buffer.concat([encodedUpdate(UPDATE), encodedUpdate({ actionResult: UPDATE.actionResult })]),
    'ASSAY_MESSAGE_MALFORMED',
  ],
  ['a truncated message', encodedUpdate(UPDATE).subarray(0, -1), 'ASSAY_MESSAGE_MALFORMED'],
])('readResultUpdate refuses %s', (_what, message, code) => {
  expect(() => readResultUpdate(message)).toThrow(expect.objectContaining({ code }));
});
