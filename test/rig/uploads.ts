// What tests of faults send to a server: blobs and results from a seed, and what was acknowledged of them.
import { createHash } from 'node:crypto';
import { type Dispatcher, request } from 'undici';
import { ActionResult } from '../../core/proto/generated/reapi.ts';
import type { Random } from './random.ts';

export interface Item {
  /** Below the server's URL. */
  readonly path: string;
  readonly bytes: Buffer;
}

export function newBlob(random: Random, size: number): Item {
  const bytes = Buffer.alloc(size, random.bytes(64));
  return { path: `/cas/${sha256(bytes)}`, bytes };
}

/** Under a random key, naming these blobs as its outputs. */
export function newResult(random: Random, ...blobs: readonly Item[]): Item {
  const outputFiles = blobs.map(({ path, bytes }, index) => ({
    path: `out/${index}`,
    digest: { hash: path.slice('/cas/'.length), sizeBytes: bytes.length },
    isExecutable: false,
    contents: Buffer.alloc(0),
  }));
  const whole = { ...ActionResult.decode(new Uint8Array(0)), outputFiles };
  return { path: `/ac/${sha256(random.bytes(16))}`, bytes: Buffer.from(ActionResult.encode(whole).finish()) };
}

export async function send(url: string, item: Item, dispatcher: Dispatcher): Promise<number> {
  const { statusCode, body } = await request(url + item.path, {
    method: 'PUT',
    body: item.bytes,
    dispatcher,
  });
  await body.dump();
  return statusCode;
}

/** What a GET gives: the right bytes, other bytes, or the status. */
export async function read(
  url: string,
  item: Item,
  dispatcher: Dispatcher,
): Promise<'right' | 'wrong' | number> {
  const { statusCode, body } = await request(url + item.path, { dispatcher });
  const bytes = Buffer.from(await body.arrayBuffer());
  if (statusCode !== 200) return statusCode;
  return bytes.equals(item.bytes) ? 'right' : 'wrong';
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
