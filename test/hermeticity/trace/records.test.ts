// The native tracer's records: decoded the same however the stream is split, and rejected if malformed.
import { describe, expect, it } from 'vitest';
import { RecordDecoder } from '../../../hermeticity/trace/records.ts';
import { ReportBuilder } from '../../../hermeticity/trace/report-builder.ts';

function record(
  kind: number,
  payload: Buffer | string,
  { flags = 0, code = 0, process = 1, ms = 0 } = {},
): Buffer {
  const body = Buffer.from(payload);
  const header = Buffer.alloc(16);
  header.writeUInt8(kind, 0);
  header.writeUInt8(flags, 1);
  header.writeUInt16LE(code, 2);
  header.writeUInt32LE(process, 4);
  header.writeUInt32LE(ms, 8);
  header.writeUInt32LE(body.length, 12);
  return Buffer.concat([header, body]);
}

function numbers(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  values.forEach((value, index) => {
    bytes.writeUInt32LE(value, index * 4);
  });
  return bytes;
}

const STREAM = Buffer.concat([
  record(1, numbers(500, 0)),
  record(2, '/bin/sh\0sh\0-c\0x\0'),
  record(10, '/a\0/link', { ms: 5 }),
  record(14, '/b', { flags: 1 | 2 }),
  record(1, numbers(501, 1), { process: 2 }),
  record(2, '\0cat\0', { flags: 1, process: 2 }),
  record(20, '/b\0/c', { process: 2 }),
  record(30, Buffer.from([2, 0, 0, 80, 127, 0, 0, 1]), { process: 2 }),
  record(40, '', { process: 2 }),
  record(255, numbers(3 << 8), { process: 0 }),
]);

function decode(chunks: readonly Buffer[]) {
  const builder = new ReportBuilder<number>();
  const decoder = new RecordDecoder(builder);
  for (const chunk of chunks) decoder.push(chunk);
  return {
    exit: decoder.exit,
    report: builder.finish({ name: 't', version: '1' }, decoder.exit ?? { code: -1 }),
  };
}

describe('a stream of records', () => {
  it('reports processes, programs and accesses in order', () => {
    const { report } = decode([STREAM]);
    expect(report).toMatchObject({
      exit: { code: 3 },
      processes: [
        { pid: 500, argv: ['sh', '-c', 'x'], file: '/bin/sh', survived: false },
        { pid: 501, parent: 0, argv: ['cat'], hooked: true, survived: true },
      ],
      accesses: [
        { kind: 'read', path: '/a', asked: '/link', process: 0, atMs: 5 },
        { kind: 'write', path: '/b', created: true, folder: true },
        { kind: 'rename', path: '/b', to: '/c', process: 1 },
        { kind: 'connect', address: { family: 'inet', host: '127.0.0.1', port: 80 } },
      ],
    });
  });

  it('decodes the same wherever it is split', () => {
    const whole = decode([STREAM]);
    for (let size = 1; size < 40; size++) {
      const chunks = [];
      for (let at = 0; at < STREAM.length; at += size) chunks.push(STREAM.subarray(at, at + size));
      expect(decode(chunks)).toEqual(whole);
    }
  });

  it('without its end is reported as incomplete', () => {
    expect(decode([STREAM.subarray(0, -21)]).exit).toBeUndefined();
  });

  it('with an unknown type or an excessive length is rejected', () => {
    expect(() => decode([record(99, '')])).toThrow('ASSAY_TRACE_BROKEN');
    const long = record(10, '');
    long.writeUInt32LE(1 << 30, 12);
    expect(() => decode([long])).toThrow('ASSAY_TRACE_BROKEN');
  });
});
