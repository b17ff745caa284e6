// Several concurrent writes under one resource name, as BuildStream sends them: each is independent.
import { zstdCompressSync } from 'node:zlib';
import { describe, expect, test, vi } from 'vitest';
import { digestOf } from '../../../../core/digest.ts';
import { parseUploadName, uploadId } from '../../../../server/protocols/reapi/resource-name.ts';
import type { OnStoreEvent } from '../../../../store/events.ts';
import type { Store } from '../../../../store/store.ts';
import type { GrpcCall } from '../../../rig/grpc.ts';
import { noise, Random } from '../../../rig/random.ts';
import { openDiskFolder } from '../../../rig/stores/disk-store.ts';
import { openMemoryStore } from '../../../rig/stores/memory/store.ts';
import {
  committed,
  PATHS,
  type ReapiClient,
  readName,
  reapiClient,
  reapiServer,
  uploadName,
  writeRequest,
} from './rig.ts';

const SEED = 20261117;
const MIB = 1024 * 1024;
const SIZE = 3 * 1024 * 1024 + 321;
const BYTES = noise(SEED, SIZE);
const DIGEST = digestOf(BYTES);
const NAME = uploadName(DIGEST, 'one-name');
const COMPRESSED = {
  name: `uploads/one-name/compressed-blobs/zstd/${DIGEST.hash}/${SIZE}`,
  bytes: zstdCompressSync(BYTES),
};

class SlowWrite {
  readonly #call: GrpcCall;
  readonly #name: string;
  readonly #bytes: Buffer;
  #at: number;

  constructor(client: ReapiClient, { name = NAME, bytes = BYTES, offset = 0 } = {}) {
    this.#call = client.grpc.open(PATHS.write);
    this.#name = name;
    this.#bytes = bytes;
    this.#at = offset;
  }

  get isSent(): boolean {
    return this.#at >= this.#bytes.length;
  }

  async send(count: number): Promise<void> {
    const data = this.#bytes.subarray(this.#at, this.#at + count);
    const writeOffset = this.#at;
    this.#at += data.length;
    await this.#call.send(
      writeRequest({ resourceName: this.#name, writeOffset, finishWrite: this.isSent, data }),
    );
  }

  async finish(): Promise<number> {
    if (!this.isSent) await this.send(SIZE);
    this.#call.end();
    return committed(await this.#call.answer());
  }

  breakOff(): void {
    this.#call.stream.close();
  }
}

/** Resolves when the server has started to store the write of that name. */
async function hasBegun({ uploads }: Store, name = NAME): Promise<void> {
  const id = uploadId(parseUploadName(name));
  await vi.waitUntil(async () => (await uploads.status(id)) !== undefined, { timeout: 90_000 });
}

describe.each([
  ['memory', (onEvent: OnStoreEvent) => openMemoryStore(onEvent)],
  ['disk', openDiskFolder],
])('concurrent writes of one name, on a store in %s', (_where, store) => {
  test.each([
    ['uncompressed', { name: NAME, bytes: BYTES }],
    ['compressed', COMPRESSED],
  ])('a second write that starts during the first does not disturb it: %s', async (_how, sent) => {
    const { server, client } = await reapiServer({ store });
    const other = await reapiClient(server.url);
    const first = new SlowWrite(client, sent);
    await first.send(2 * MIB);
    await hasBegun(server.store, sent.name);
    const second = new SlowWrite(other, sent);
    await second.send(1.5 * MIB);
    await first.send(1000);
    expect(await second.finish()).toBe(sent.bytes.length);
    expect(await first.finish()).toBe(sent.bytes.length);
    expect((await client.readBytes(readName(DIGEST))).equals(BYTES)).toBe(true);
  });

  test(`many at once, in any order, all commit: seed ${SEED}`, async () => {
    const random = new Random(SEED);
    const { server, client } = await reapiServer({ store });
    const clients = [client, await reapiClient(server.url)];
    const writes = Array.from({ length: 8 }, () => new SlowWrite(random.pick(clients)));
    for (let left = writes; left.length > 0; left = left.filter(({ isSent }) => !isSent)) {
      await random.pick(left).send(1 + random.below(MIB));
    }
    for (const write of writes) expect(await write.finish()).toBe(SIZE);
    expect((await client.readBytes(readName(DIGEST))).equals(BYTES)).toBe(true);
  });

  test('if both break off, the name keeps the first one’s offset and resumes there', async () => {
    const { server, client } = await reapiServer({ store });
    const first = new SlowWrite(client);
    await first.send(2 * MIB);
    await hasBegun(server.store);
    const second = new SlowWrite(client);
    await second.send(1 * MIB + 1);
    first.breakOff();
    second.breakOff();
    await vi.waitUntil(async () => (await client.writeStatus(NAME)).committedSize >= MIB, {
      timeout: 90_000,
    });
    const { committedSize } = await client.writeStatus(NAME);
    expect(await new SlowWrite(client, { offset: committedSize }).finish()).toBe(SIZE);
    expect((await client.readBytes(readName(DIGEST))).equals(BYTES)).toBe(true);
  });
});
