// Complete or nothing, seen from the wire: a blob that cannot be completed ends before its announced length,
// and an incomplete upload stores nothing.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { digestOf } from '../../core/digest.ts';
import { AssayError } from '../../core/errors.ts';
import { openDiskStore } from '../../store/open.ts';
import type { Content } from '../../store/store.ts';
import { contentOf } from '../store/content.ts';
import { ask, codeIn, pathOf, putHead, RawConnection, storeWith, testServer } from './rig.ts';

const MIB = 1024 * 1024;
const SOME = digestOf(Buffer.from('some'));

function corrupt(): AssayError {
  return new AssayError('ASSAY_BLOB_CORRUPT', 'chunk 1 fails its checksum');
}

test('a download of a blob that proves corrupt half-way is cut off', async () => {
  const chunks = async function* () {
    yield Buffer.alloc(MIB, 'right');
    throw corrupt();
  };
  const server = await testServer({ store: storeWith({ get: async () => ({ size: 2 * MIB, chunks }) }) });
  await expect(ask(server.url + pathOf(SOME))).rejects.toThrow();
  const connection = await RawConnection.to(server);
  connection.send(`GET ${pathOf(SOME)} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
  const received = await connection.untilClosed();
  expect(received).toContain(`content-length: ${2 * MIB}\r\n`);
  expect(received.length).toBeLessThan(2 * MIB);
  expect(received).not.toContain('ASSAY_');
});

test('a download of a blob that ends early is cut off, not ended', async () => {
  const chunks = async function* () {
    yield Buffer.alloc(MIB, 'right');
  };
  const server = await testServer({ store: storeWith({ get: async () => ({ size: MIB + 1, chunks }) }) });
  await expect(ask(server.url + pathOf(SOME))).rejects.toThrow();
  expect(server.logged()).toContain('ASSAY_STORE_FAULT');
});

test('a blob whose first chunk is corrupt is a miss', async () => {
  const chunks = async function* (): AsyncGenerator<Buffer> {
    yield await Promise.reject(corrupt());
  };
  const server = await testServer({ store: storeWith({ get: async () => ({ size: MIB, chunks }) }) });
  const answer = await ask(server.url + pathOf(SOME));
  expect([answer.status, codeIn(answer)]).toEqual([404, 'ASSAY_BLOB_CORRUPT']);
});

test('the store does not reuse a chunk’s buffer before the kernel has sent it', async () => {
  const buffer = Buffer.alloc(MIB);
  const chunks = async function* () {
    for (const mark of ['a', 'b', 'c', 'd']) yield buffer.fill(mark);
  };
  const server = await testServer({ store: storeWith({ get: async () => ({ size: 4 * MIB, chunks }) }) });
  const { body } = await ask(server.url + pathOf(SOME));
  const expected = Buffer.concat(['a', 'b', 'c', 'd'].map((mark) => Buffer.alloc(MIB, mark)));
  expect(body.equals(expected)).toBe(true);
});

test('an aborted upload stores nothing', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'assay-server-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const server = await testServer({ store: () => openDiskStore({ directory }) });
  for (const size of [1000, 3 * MIB]) {
    const bytes = contentOf('broken off', size);
    const connection = await RawConnection.to(server);
    connection.send(putHead(pathOf(digestOf(bytes)), `content-length: ${size}`));
    await new Promise((resolve) => connection.socket.write(bytes.subarray(0, size - 1), resolve));
    connection.socket.destroy();
  }
  await server.stop();
  for (const size of [1000, 3 * MIB]) {
    expect(await server.store.blobs.get(digestOf(contentOf('broken off', size)).hash)).toBeUndefined();
  }
  expect(filesIn(directory).filter((name) => !name.includes('index'))).toEqual([]);
});

test('the store sees at once that the client has disconnected', async () => {
  let whenBegun = () => {};
  const begun = new Promise<void>((resolve) => {
    whenBegun = resolve;
  });
  let whenRefused: (error: unknown) => void = () => {};
  const refusal = new Promise((resolve) => {
    whenRefused = resolve;
  });
  const put = async (_expected: unknown, content: Content): Promise<never> => {
    try {
      if (!(content instanceof Uint8Array)) for await (const _piece of content) whenBegun();
    } catch (error) {
      whenRefused(error);
    }
    throw new Error('nobody waits for this any more');
  };
  const server = await testServer({ store: storeWith({ put }) });
  const connection = await RawConnection.to(server);
  connection.send(putHead(pathOf(SOME), `content-length: ${MIB}`) + 'the beginning'.repeat(10_000));
  await begun;
  connection.socket.destroy();
  expect(await refusal).toMatchObject({ code: 'ASSAY_SIZE_MISMATCH' });
});

test('a blob with a flipped bit on disk is never served, and the next put repairs it', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'assay-server-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const server = await testServer({ store: (onEvent) => openDiskStore({ directory, onEvent }) });
  const bytes = contentOf('flipped', 3 * MIB);
  const url = server.url + pathOf(digestOf(bytes));
  await ask(url, 'PUT', { body: bytes });
  const [file = ''] = filesIn(directory).filter((name) => name.includes(digestOf(bytes).hash.slice(2)));
  const stored = readFileSync(join(directory, file));
  stored.writeUInt8(stored.readUInt8(2 * MIB + 5) ^ 1, 2 * MIB + 5);
  writeFileSync(join(directory, file), stored);
  await expect(ask(url)).rejects.toThrow();
  expect(await ask(url)).toMatchObject({ status: 404 });
  expect((await ask(`${server.url}/metrics`)).body.toString()).toContain('{event="quarantined"} 1');
  expect(await ask(url, 'PUT', { body: bytes })).toMatchObject({ status: 200 });
  expect((await ask(url)).body.equals(bytes)).toBe(true);
});

test('an aborted chunked upload stores nothing', async () => {
  const server = await testServer();
  const bytes = contentOf('broken off', 100);
  const connection = await RawConnection.to(server);
  connection.send(putHead(pathOf(digestOf(bytes)), 'transfer-encoding: chunked'));
  connection.send(Buffer.concat([Buffer.from('64\r\n'), bytes, Buffer.from('\r\n')]));
  connection.socket.end();
  await connection.untilClosed();
  await server.stop();
  expect(await server.store.blobs.get(digestOf(bytes).hash)).toBeUndefined();
});

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length));
}
