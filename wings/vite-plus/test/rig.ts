// What `vp` sends: questions and entries, as it was seen to send them.
import { decode, encode } from 'cborg';

const BOUNDARY = 'b6179132c34ea3be-5caec768bf21dd92-0ae5a270e0b86f09-f46582037069cf67';
export const FORM = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };

export interface SentEntry {
  readonly key: string;
  readonly task?: string;
  readonly value: string | Buffer;
  readonly blob?: string | Buffer;
}

const TASK = 'build';

export function question(key: string, task = TASK): Buffer {
  return Buffer.from(encode({ key: Buffer.from(key), secondary_key: Buffer.from(task) }));
}

export function metadata({ key, task = TASK, value }: SentEntry): Buffer {
  return Buffer.from(
    encode({ key: Buffer.from(key), secondary_key: Buffer.from(task), value: Buffer.from(value) }),
  );
}

export function entryForm(entry: SentEntry): Buffer {
  const { blob } = entry;
  return form([
    ['metadata', metadata(entry)],
    ...(blob === undefined ? [] : ([['blob', Buffer.from(blob)]] as const)),
  ]);
}

export function form(parts: readonly (readonly [string, Buffer])[]): Buffer {
  const pieces = parts.map(([name, content]) =>
    Buffer.concat([
      Buffer.from(
        `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\nContent-Type: application/octet-stream\r\n\r\n`,
      ),
      content,
      Buffer.from('\r\n'),
    ]),
  );
  return Buffer.concat([...pieces, Buffer.from(`--${BOUNDARY}--\r\n`)]);
}

export interface Told {
  readonly kind: string;
  readonly key?: string;
  readonly value: Buffer;
  readonly blobId: string | null;
}

export function told(body: Buffer): Told {
  const { kind, key, value, blob_id: blobId } = decode(body);
  return {
    kind,
    ...(key && { key: Buffer.from(key).toString() }),
    value: Buffer.from(value),
    blobId,
  };
}
