// The mutations that a fuzzer applies to a valid request.
import type { Random } from '../../rig/random.ts';
import type { FuzzRequest } from './request.ts';

const NASTY = [
  '%00',
  '%2F',
  '%',
  '..',
  '/../',
  '//',
  '/',
  '?',
  '&',
  '=',
  '~',
  '!',
  ':',
  ';',
  '"',
  '<',
  "'",
  '\\',
  'é',
  '\x7f',
  '*',
  '+',
  '|',
  '{}',
  '0',
  '-1',
  'ac/',
  'cas/',
];
const METHODS = [
  'GET',
  'HEAD',
  'PUT',
  'POST',
  'DELETE',
  'OPTIONS',
  'PROPFIND',
  'MKCOL',
  'PATCH',
  'TRACE',
  'get',
  'X',
];
const HEADERS: readonly (readonly [string, string])[] = [
  ['range', 'bytes=0-'],
  ['range', 'bytes=5-2'],
  ['range', 'bytes=-1'],
  ['range', 'bytes=99999999999999999999-'],
  ['if-none-match', '*'],
  ['content-type', 'application/json'],
  ['content-type', 'application/protobuf'],
  ['content-encoding', 'aws-chunked'],
  ['accept', 'application/json'],
  ['authorization', 'Basic Og=='],
  [
    'authorization',
    'AWS4-HMAC-SHA256 Credential=a/20260101/r/s3/aws4_request, SignedHeaders=host, Signature=00',
  ],
  ['x-amz-content-sha256', 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD'],
  ['x-artifact-duration', 'NaN'],
  ['x-artifact-tag', 'x'.repeat(3000)],
  ['x-forwarded-proto', 'https'],
  ['host', 'a b'],
  ['host', ''],
  ['depth', 'infinity'],
  ['expect', '100-continue'],
  ['upgrade', 'h2c'],
  ['content-range', 'bytes 0-1/2'],
];
const ODD_VALUES = [null, true, 0, -1, 1e308, '', 'x'.repeat(2000), '\ud800', [], [[]], {}, { a: 1 }, '\0'];

/** Up to three changes; often none, so that requests also get past the first check. */
export function mutated(random: Random, good: FuzzRequest): FuzzRequest {
  let changed = good;
  for (let left = random.below(4); left > 0; left--) changed = random.pick(CHANGES)(random, changed);
  return changed;
}

type Change = (random: Random, request: FuzzRequest) => FuzzRequest;

const CHANGES: readonly Change[] = [
  (random, one) => ({ ...one, method: random.pick(METHODS) }),
  (random, one) => ({ ...one, path: `/${mutateText(random, one.path.slice(1))}` }),
  (random, one) => ({ ...one, path: `/${mutateText(random, one.path.slice(1))}` }),
  (random, one) => ({ ...one, headers: { ...one.headers, ...Object.fromEntries([random.pick(HEADERS)]) } }),
  (random, one) => ({ ...one, body: mutateBytes(random, one.body) }),
  (random, one) => ({ ...one, body: mutateJson(random, one.body) }),
  (random, one) => ({ ...one, announced: Math.max(0, one.body.length + random.below(9) - 4) }),
];

function mutateText(random: Random, text: string): string {
  const at = random.below(text.length + 1);
  const end = Math.min(text.length, at + random.below(8));
  switch (random.below(6)) {
    case 0:
      return text.slice(0, at) + text.slice(end);
    case 1:
      return text.slice(0, at);
    case 2:
      return text.slice(0, at) + text.slice(at, end).toUpperCase() + text.slice(end);
    case 3:
      return text.slice(0, at) + text.slice(at, end).repeat(random.below(200)) + text.slice(end);
    default:
      return text.slice(0, at) + random.pick(NASTY) + text.slice(end);
  }
}

function mutateBytes(random: Random, bytes: Buffer): Buffer {
  const at = random.below(bytes.length + 1);
  switch (random.below(5)) {
    case 0:
      return bytes.subarray(0, at);
    case 1:
      return Buffer.concat([bytes.subarray(0, at), random.bytes(1 + random.below(16)), bytes.subarray(at)]);
    case 2:
      return random.bytes(random.below(300));
    case 3:
      return Buffer.alloc(random.below(200_000), random.below(256));
    default:
      return flipped(random, bytes);
  }
}

function flipped(random: Random, bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  if (copy.length > 0) {
    const at = random.below(copy.length);
    copy.writeUInt8(copy.readUInt8(at) ^ (1 << random.below(8)), at);
  }
  return copy;
}

/** Replaces one value, if the body is JSON. */
function mutateJson(random: Random, bytes: Buffer): Buffer {
  try {
    const value: unknown = JSON.parse(bytes.toString());
    return Buffer.from(JSON.stringify(withOddValue(random, value)));
  } catch {
    return mutateBytes(random, bytes);
  }
}

function withOddValue(random: Random, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || random.below(3) === 0) return random.pick(ODD_VALUES);
  if (Array.isArray(value))
    return value.map((item) => (random.below(2) === 0 ? withOddValue(random, item) : item));
  const names = Object.keys(value);
  if (names.length === 0) return random.pick(ODD_VALUES);
  const name = random.pick(names);
  return {
    ...value,
    [random.below(5) === 0 ? `${name}x` : name]: withOddValue(random, Reflect.get(value, name)),
  };
}
