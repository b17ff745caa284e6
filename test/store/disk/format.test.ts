import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { digestOf } from '../../../core/digest.ts';
import { DEFAULT_NAMESPACE, parseNamespace } from '../../../core/namespace.ts';
import { fileName, filePath, parseFileName } from '../../../store/disk/fs/layout.ts';
import {
  ageKeyOf,
  BLOB_AGE,
  belongsTo,
  contentKeyOf,
  decodeAge,
  decodeLabel,
  decodePresence,
  decodeResultRecord,
  decodeTenantNumber,
  decodeUpload,
  EVERYONE,
  encodeLabel,
  encodePresence,
  encodeResult,
  encodeTenantNumber,
  encodeUpload,
  labelKeyOf,
  MAX_TENANTS,
  NOBODY,
  RESULT_AGE,
  resultKeyOf,
  tenantKeyOf,
  tenantsOf,
  tickIn,
} from '../../../store/disk/index/records.ts';
import { STORE } from '../../../store/limits.ts';
import { decodeChecksums, encodeChecksums, loadChecksum } from '../../../store/shared/checksum.ts';

const hello = digestOf(Buffer.from('hello'));
const GENERATION = 123_456_789;
const layout = { index: 'index', files: 'files', staging: 'staging', quarantine: 'quarantine' };
const checksum = await loadChecksum();
const checksums = [checksum(Buffer.alloc(STORE.chunkBytes)), checksum(Buffer.from('hello'))];
const POSITION = 1_800_000_000_000;
const used = {
  tick: 258,
  generation: GENERATION,
  position: POSITION,
  checksum: undefined,
  tenants: tenantsOf(),
};
const helloKey = Buffer.from(hello.hash, 'hex');
const helloContent = contentKeyOf(helloKey, POSITION);
const resultKey = Buffer.from(keyIn('team/a'), 'hex');
const labelKey = labelKeyOf({ namespace: parseNamespace('team/a'), label: 'linux-1' });
const naming = { bytes: Buffer.from('result'), references: [hello] };

const writer = { name: 'main', from: '192.0.2.7', via: 'http', at: POSITION };
const tenantKey = tenantKeyOf('acme');

const MADE: Readonly<Record<string, string>> = {
  'presence of 5 bytes inside the index': encodePresence({
    ...used,
    size: 5,
    isFile: false,
    checksum: checksum(Buffer.from('hello')),
  }).toString('hex'),
  'presence of 5 bytes without a checksum': encodePresence({ ...used, size: 5, isFile: false }).toString(
    'hex',
  ),
  'presence of 3145745 bytes in a file': encodePresence({ ...used, size: 3_145_745, isFile: true }).toString(
    'hex',
  ),
  'presence as version 2 wrote it': encodePresence({
    ...used,
    size: 5,
    isFile: false,
    position: 0,
  }).toString('hex'),
  'presence of 5 bytes inside the index, of tenants 1 and 258': encodePresence({
    ...used,
    size: 5,
    isFile: false,
    checksum: checksum(Buffer.from('hello')),
    tenants: tenantsOf(1, 258),
  }).toString('hex'),
  'presence of 3145745 bytes in a file, of tenant 1': encodePresence({
    ...used,
    size: 3_145_745,
    isFile: true,
    tenants: tenantsOf(1),
  }).toString('hex'),
  'key of tenant acme’s number': tenantKey.toString('hex'),
  'its value, 258': encodeTenantNumber(tenantKey, 258).toString('hex'),
  'result "result" that names hello, written by main': encodeResult(resultKey, {
    ...naming,
    writer,
  }).toString('hex'),
  'key of hello’s content': helloContent.toString('hex'),
  'checksums of 1 MiB of zeros and hello': encodeChecksums(checksums).toString('hex'),
  'key of hello’s result in team/a': keyIn('team/a'),
  'key of hello’s result in no namespace': keyIn(DEFAULT_NAMESPACE),
  'result "result" that names hello': encodeResult(resultKey, naming).toString('hex'),
  'result "result" that names nothing': encodeResult(resultKey, { ...naming, references: [] }).toString(
    'hex',
  ),
  'age of hello at tick 258': ageKeyOf(BLOB_AGE, 258, helloContent).toString('hex'),
  'age of hello’s result in team/a at tick 258': ageKeyOf(
    RESULT_AGE,
    258,
    Buffer.from(keyIn('team/a'), 'hex'),
  ).toString('hex'),
  'label linux-1 in team/a': labelKey.toString('hex'),
  'its value, which leads to hello’s result': encodeLabel(labelKey, hello.hash).toString('hex'),
  'upload of hello, 3 bytes committed': encodeUpload({
    expected: hello,
    committed: 3,
    holder: EVERYONE,
  }).toString('hex'),
  'the same of holder 258': encodeUpload({ expected: hello, committed: 3, holder: 258 }).toString('hex'),
  'file of hello': filePath(layout, hello.hash, GENERATION),
};

function keyIn(namespace: string): string {
  return resultKeyOf({ namespace: parseNamespace(namespace), key: hello.hash }).toString('hex');
}

function flips(bytes: Buffer): Buffer[] {
  return Array.from({ length: bytes.length * 8 }, (_, bit) => {
    const flipped = Buffer.from(bytes);
    flipped.writeUInt8(flipped.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
    return flipped;
  });
}

/** A name, two spaces or more, a value. */
function vectors(): [string, string][] {
  const lines = readFileSync(join(import.meta.dirname, 'format-v5.txt'), 'utf8').split('\n');
  return lines
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [name = '', value = ''] = line.split(/ {2,}/);
      return [name, value];
    });
}

describe('format v5', () => {
  test.each(vectors())('%s', (name, value) => {
    expect(MADE[name]).toBe(value);
  });

  test('has a vector for every record', () => {
    expect(vectors().map(([name]) => name)).toEqual(Object.keys(MADE));
  });

  test('reads the presences of version 1, whose row version was the generation', () => {
    expect(decodePresence(Buffer.from('01110030000000', 'hex'), GENERATION)).toEqual({
      size: 3_145_745,
      isFile: true,
      tick: 0,
      generation: GENERATION,
      position: 0,
      checksum: undefined,
      tenants: tenantsOf(),
    });
  });

  test('reads the results and labels of version 3, whose checksums did not cover their keys', () => {
    const rest = Buffer.concat([Buffer.alloc(4), naming.bytes]);
    const record = Buffer.concat([Buffer.from(digestOf(rest).hash, 'hex'), rest]);
    expect(decodeResultRecord(resultKey, record)).toMatchObject({ bytes: naming.bytes, references: [] });
    expect(decodeLabel(labelKey, helloKey)).toBe(hello.hash);
  });

  test('reads the presences and ages of version 2, which had no positions', () => {
    const presence = { ...used, size: 5, isFile: false, position: 0 };
    expect(decodePresence(encodePresence(presence), 1)).toEqual(presence);
    expect(contentKeyOf(helloKey, 0)).toEqual(helloKey);
    for (const place of [helloKey, helloContent]) {
      const { tick, key } = decodeAge(ageKeyOf(BLOB_AGE, 258, place));
      expect({ tick, key }).toEqual({ tick: 258, key: helloKey });
    }
  });

  test('reads the records of finished uploads, which Assay 0.1 kept', () => {
    const record = Buffer.from(`04050000000000000000000000${hello.hash}`, 'hex');
    expect(decodeUpload(record)).toMatchObject({ committed: 5, isFinished: true });
  });

  test('reads what it writes', () => {
    for (const stored of [undefined, 2n ** 64n - 1n]) {
      for (const position of stored === undefined ? [0, POSITION] : [POSITION]) {
        for (const numbers of [[], [1], [1, 2, 3], Array.from({ length: MAX_TENANTS }, (_, at) => at + 1)]) {
          const tenants = tenantsOf(...numbers);
          const isFile = stored === undefined;
          const presence = { ...used, size: 2 ** 47, isFile, position, checksum: stored, tenants };
          expect(decodePresence(encodePresence(presence), 1)).toEqual(presence);
        }
      }
    }
    for (const number of [1, MAX_TENANTS])
      expect(decodeTenantNumber(tenantKey, encodeTenantNumber(tenantKey, number))).toBe(number);
    expect(decodeLabel(labelKey, encodeLabel(labelKey, hello.hash))).toBe(hello.hash);
    for (const expected of [{}, hello, { hash: hello.hash }, { size: 5 }]) {
      for (const holder of [EVERYONE, MAX_TENANTS]) {
        const upload = {
          expected: { hash: undefined, size: undefined, ...expected },
          committed: 2 ** 40,
          holder,
        };
        expect(decodeUpload(encodeUpload(upload))).toEqual({ ...upload, isFinished: false });
      }
    }
    expect(decodeChecksums(encodeChecksums(checksums), STORE.chunkBytes + 5)).toEqual(checksums);
    const { bytes, references = [] } = decodeResultRecord(resultKey, encodeResult(resultKey, naming)) ?? {};
    expect(bytes).toEqual(naming.bytes);
    expect(references.map(({ hash, size }) => ({ hash, size }))).toEqual(naming.references);
    expect(parseFileName(fileName(hello.hash, GENERATION))).toEqual({
      hash: hello.hash,
      generation: GENERATION,
    });
  });

  test('a tick is found only for a tenant that the record names', () => {
    const numbers = [1, 2, 7, 258, 65_535];
    for (const tenants of [[], [7], [1, 7], numbers]) {
      for (const position of [0, POSITION]) {
        const presence = { ...used, size: 5, isFile: false, position, tenants: tenantsOf(...tenants) };
        const record = encodePresence(presence);
        for (const number of numbers) expect(belongsTo(presence, number)).toBe(tenants.includes(number));
        expect(tickIn(record, 5, EVERYONE)).toBe(258);
        for (const number of [...numbers, 3, 65_534, NOBODY]) {
          expect(tickIn(record, 5, number)).toBe(tenants.includes(number) ? 258 : undefined);
          expect(tickIn(record, 6, number)).toBeUndefined();
        }
      }
    }
    const ofVersion1 = Buffer.from('00050000000000', 'hex');
    expect([tickIn(ofVersion1, 5, EVERYONE), tickIn(ofVersion1, 5, 1)]).toEqual([0, undefined]);
  });

  test('a presence that is cut off anywhere belongs to no tenant that it did not have', () => {
    const whole = { ...used, size: 5, isFile: false, tenants: tenantsOf(7) };
    const record = encodePresence(whole);
    for (let length = 0; length < record.length; length++)
      for (const number of [1, 2, 3]) expect(tickIn(record.subarray(0, length), 5, number)).toBeUndefined();
  });

  test('a tenant’s number with a flipped bit in it or in its key is not decoded', () => {
    const record = encodeTenantNumber(tenantKey, 258);
    for (const flipped of flips(record)) expect(decodeTenantNumber(tenantKey, flipped)).toBeUndefined();
    for (const other of flips(tenantKey)) expect(decodeTenantNumber(other, record)).toBeUndefined();
  });

  test.each([
    { name: '', from: '', via: '', at: 0 },
    { name: 'Zoë “CI”', from: '[2001:db8::1]:99', via: 'grpc', at: 2 ** 48 - 1 },
    { name: 'x'.repeat(300), from: 'y', via: 'z', at: 1 },
  ])('a result keeps its writer $name', (by) => {
    for (const references of [[], [hello]]) {
      const record = encodeResult(resultKey, { ...naming, references, writer: by });
      const decoded = decodeResultRecord(resultKey, record);
      expect(decoded?.writer).toEqual(by);
      expect(decoded?.bytes).toEqual(naming.bytes);
      expect(decoded?.references.map(({ hash, size }) => ({ hash, size }))).toEqual(references);
    }
  });

  test('a result with a flipped bit in it or in its key, or cut off anywhere, is not decoded', () => {
    for (const result of [naming, { ...naming, writer }]) {
      const record = encodeResult(resultKey, result);
      for (const flipped of flips(record)) expect(decodeResultRecord(resultKey, flipped)).toBeUndefined();
      for (const other of flips(resultKey)) expect(decodeResultRecord(other, record)).toBeUndefined();
      for (let length = 0; length < record.length; length++) {
        expect(decodeResultRecord(resultKey, record.subarray(0, length))).toBeUndefined();
      }
    }
  });

  test('a label with a flipped bit in it or in its name is not decoded', () => {
    const record = encodeLabel(labelKey, hello.hash);
    for (const flipped of flips(record)) expect(decodeLabel(labelKey, flipped)).toBeUndefined();
    for (const other of flips(labelKey)) expect(decodeLabel(other, record)).toBeUndefined();
  });

  test('checksums are not decoded unless there is one for each chunk', () => {
    const record = encodeChecksums(checksums);
    expect(decodeChecksums(record, STORE.chunkBytes)).toBeUndefined();
    expect(decodeChecksums(record, 2 * STORE.chunkBytes + 1)).toBeUndefined();
    expect(decodeChecksums(record.subarray(1), STORE.chunkBytes + 5)).toBeUndefined();
  });

  test.each([
    '',
    'left',
    hello.hash,
    `${hello.hash}-`,
    `${hello.hash}-xyz`,
    `${hello.hash}-00000000000G`,
    `${hello.hash}-0000075bcd15-`,
  ])('a file named %j is not the file of a blob', (name) => {
    expect(parseFileName(name)).toBeUndefined();
  });
});
