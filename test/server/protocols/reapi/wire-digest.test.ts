// Lists of digests are encoded as the generated code encodes them.
import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { BinaryDigest, type Digest, EMPTY, HASH_BYTES, toWire } from '../../../../core/digest.ts';
import {
  FindMissingBlobsRequest,
  FindMissingBlobsResponse,
} from '../../../../core/proto/generated/reapi-services.ts';
import { readDigestList } from '../../../../server/protocols/reapi/digest-list.ts';
import { encodeDigests } from '../../../../server/protocols/reapi/wire-digest.ts';

const MISSING_DIGESTS = 0x12;
const SIZES = [0, 1, 127, 128, 16_383, 16_384, 2 ** 31, 2 ** 32 + 5, 2 ** 49, Number.MAX_SAFE_INTEGER];

function generated(digests: readonly Digest[]): Uint8Array {
  return FindMissingBlobsResponse.encode({ missingBlobDigests: digests.map(toWire) }).finish();
}

test('every size, as bytes and as text, is encoded as the generated code encodes it', () => {
  const keys = randomBytes(SIZES.length * HASH_BYTES);
  const binary = SIZES.map((size, index) => new BinaryDigest(keys, index * HASH_BYTES, size));
  const text = binary.map(({ hash, size }): Digest => ({ hash, size }));
  const all = [...binary, EMPTY, ...text];
  expect(Buffer.compare(encodeDigests(MISSING_DIGESTS, all), generated(all))).toBe(0);
  for (const one of all)
    expect(Buffer.compare(encodeDigests(MISSING_DIGESTS, [one]), generated([one]))).toBe(0);
});

test('digests that a client sent are repeated as the generated code encodes them', () => {
  const blobDigests = SIZES.map((sizeBytes) => ({
    hash: randomBytes(HASH_BYTES).toString('hex'),
    sizeBytes,
  }));
  const request = { instanceName: 'a/b', blobDigests, digestFunction: 0 as const };
  const { digests } = readDigestList(Buffer.from(FindMissingBlobsRequest.encode(request).finish()));
  for (const some of [digests, digests.slice(3, 5), digests.filter((_, at) => at % 2 === 1), []])
    expect(Buffer.compare(encodeDigests(MISSING_DIGESTS, some), generated(some))).toBe(0);
});

test('no digests are an empty message', () => {
  expect(encodeDigests(MISSING_DIGESTS, [])).toHaveLength(0);
});
