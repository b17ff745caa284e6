import { describe, expect, test } from 'vitest';
import { decodeStrict } from '../../core/message.ts';
import { ActionResult } from '../../core/proto/generated/reapi.ts';
import { ACTION_RESULT } from '../../core/proto/shapes.ts';
import { Random } from '../rig/random.ts';

const decode = (bytes: Uint8Array) => decodeStrict(ActionResult, ACTION_RESULT, bytes, 'not a result');

describe('bytes that are not a message are not decoded as an empty one', () => {
  test.each([
    ['NUL', [0]],
    ['NUL after a whole field', [0x20, 0x01, 0]],
    ['text', [...Buffer.from('<html>')]],
    ['the end of a group that never began', [0x24]],
    ['a field that is cut short', [0x12, 0x05, 0x0a]],
    ['a tag that is cut short', [0x80]],
    ['a nested message that is cut short', [0x12, 0x02, 0x0a, 0x7f]],
    ['a nested field that ends in what comes after its message', [0x12, 0x02, 0x0a, 0x02, 0x20, 0x01]],
    ['a nested tag that ends in what comes after its message', [0x12, 0x01, 0x92, 0x01, 0x00]],
    ['a message in a message that is longer than its own', [0x12, 0x02, 0x12, 0x02, 0x20, 0x01]],
    ['a message that may be there once and is there twice', [0x32, 0x00, 0x32, 0x00]],
  ])('%s', (_, bytes) => {
    expect(() => decode(Buffer.from(bytes))).toThrow(/ASSAY_RESULT_MALFORMED: not a result/);
  });

  test('random bytes are refused or decoded, and never another error (seed 17)', () => {
    const random = new Random(17);
    for (let round = 0; round < 20_000; round++) {
      const bytes = random.bytes(1 + random.below(24));
      try {
        decode(bytes);
      } catch (error) {
        expect(String(error)).toMatch(/ASSAY_RESULT_MALFORMED/);
      }
    }
  });
});

test('fields that Assay does not know come back intact', () => {
  const unknown = Buffer.from([0x20, 0x07, 0xfa, 0x3f, 0x03, 0x61, 0x62, 0x63]);
  expect(Buffer.from(ActionResult.encode(decode(unknown)).finish())).toEqual(unknown);
});
