// Remotes that would make a run wait forever, each with a plausible response.
// They never cause a hit, and never a long wait.
import { rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { constants, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { frame } from '../../../core/grpc/frame.ts';
import { GRPC_STATUS } from '../../../core/grpc-status.ts';
import { LABELS_PATH } from '../../../core/labels.ts';
import { QueryWriteStatusResponse, ReadResponse } from '../../../core/proto/generated/bytestream.ts';
import { type RanWithSummary, Workshop } from '../../rig/assay.ts';
import { makeQuickFolder } from '../../rig/folders.ts';
import { begin, type Lies, refuse, startLyingServer } from '../../rig/lying-server.ts';
import { ServerProcess } from '../../rig/server.ts';

let shop: Workshop;
const closers: (() => Promise<void> | void)[] = [];

beforeEach(() => {
  shop = new Workshop();
  shop.script('make.sh', 'head -c 1000000 /dev/urandom > out');
});

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
  shop.remove();
});

function build(url: string, store: string): Promise<RanWithSummary> {
  const flags = ['--remote', url, '--store', `${shop.folder}/${store}`, '--input', 'make.sh'];
  return shop.run([...flags, '--output', 'out', '--', './make.sh'], { form: 'bundle' });
}

function expectOrdinaryMiss(ran: RanWithSummary, words: string): void {
  expect(ran.code, ran.stderr).toBe(0);
  expect(ran.summary).toMatchObject({ outcome: 'miss', published: true, shared: false });
  expect(ran.summary.warnings.join()).toContain(`the remote is not usable, going on without it: ${words}`);
}

/** Until the client disconnects. */
function endlessly(call: ServerHttp2Stream, message: Uint8Array): void {
  begin(call);
  const piece = Buffer.concat(Array.from({ length: 10_000 }, () => frame(message)));
  const more = () => {
    while (!call.destroyed && call.write(piece));
  };
  call.on('drain', more);
  more();
}

function everyMoment(call: ServerHttp2Stream, message: Uint8Array): void {
  begin(call);
  const timer = setInterval(() => call.write(frame(message)), 5);
  call.once('close', () => clearInterval(timer));
}

/** Reads this many bytes, then calls `enough`. */
function breakAfter(stream: Readable, bytes: number, enough: () => void): void {
  let got = 0;
  stream.on('error', () => {});
  stream.on('data', (piece: Buffer) => {
    got += piece.length;
    if (got >= bytes) enough();
  });
}

const reading = (text: string) => ReadResponse.encode({ data: Buffer.from(text) }).finish();

describe('a run does not wait long for a gRPC remote that sends', { timeout: 60_000 }, () => {
  async function liar(lies: Lies): Promise<string> {
    // A quick store: the client would rightly give up a server that takes 2 s for a sync.
    const store = makeQuickFolder();
    closers.push(() => rmSync(store, { recursive: true }));
    const honest = await ServerProcess.start(store, { form: 'bundle' });
    closers.push(() => honest.stop());
    expect((await build(honest.url, 'one')).summary.shared).toBe(true);
    rmSync(`${shop.workspace}/out`);
    const server = await startLyingServer(honest.url, lies);
    closers.push(() => server.close());
    return server.url;
  }

  test('correct responses: it is a hit, which proves that these tests can fail', async () => {
    const ran = await build(await liar({}), 'two');
    expect(ran.summary).toMatchObject({ outcome: 'hit-remote', warnings: [] });
  });

  test.each<[string, Lies, string]>([
    [
      'many responses to one request',
      { List: (call) => endlessly(call, Buffer.alloc(0)) },
      'it sent more than one message in a unary response',
    ],
    [
      'a blob in empty pieces',
      { Read: (call) => endlessly(call, Buffer.alloc(0)) },
      'it sends empty messages',
    ],
  ])('%s', async (_, lies, words) => {
    expectOrdinaryMiss(await build(await liar(lies), 'two'), words);
  });

  test('a blob byte by byte', async () => {
    const url = await liar({ Read: (call) => everyMoment(call, reading('x')) });
    const { summary } = await build(url, 'two');
    expect(summary).toMatchObject({ outcome: 'miss', exitCode: 0, published: true });
    expect(summary.warnings.join()).toContain('longer than the command takes');
  });

  test('an upload status that grows by one byte after each break', async () => {
    let committed = 0;
    const url = await liar({
      Write: (call) => breakAfter(call, 4_000_000, () => call.close(constants.NGHTTP2_INTERNAL_ERROR)),
      QueryWriteStatus(call) {
        begin(call);
        call.once('wantTrailers', () => call.sendTrailers({ 'grpc-status': '0' }));
        const status = { committedSize: ++committed, complete: false };
        call.end(frame(QueryWriteStatusResponse.encode(status).finish()));
      },
    });
    shop.script('make.sh', 'head -c 9000000 /dev/urandom > out');
    expectOrdinaryMiss(await build(url, 'two'), '');
    expect(committed).toBeLessThan(10);
  });

  test('an error with control characters, which are removed from the message', async () => {
    const url = await liar({
      Read: (call) => refuse(call, GRPC_STATUS.INTERNAL, 'one\r\n::warning::two\x1b[2Jthree'),
    });
    expectOrdinaryMiss(await build(url, 'two'), 'it answered INTERNAL: one ::warning::two [2Jthree');
  });
});

describe('a run does not wait long for an HTTP remote that sends', { timeout: 60_000 }, () => {
  async function liar(answer: RequestListener): Promise<string> {
    const server = createServer(answer);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closers.push(() => {
      server.closeAllConnections();
      server.close();
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  test('the same upload offset after each break', async () => {
    let sent = 0;
    const url = await liar((request, response) => {
      if (request.method === 'HEAD')
        response.writeHead(204, { 'upload-offset': '5', 'upload-complete': '?0' });
      else if (request.method === 'GET') response.writeHead(404);
      else {
        sent++;
        breakAfter(request, 4_000_000, () => request.socket.destroy());
        return;
      }
      response.end();
    });
    shop.script('make.sh', 'head -c 9000000 /dev/urandom > out');
    expectOrdinaryMiss(await build(url, 'one'), '');
    expect(sent).toBeLessThan(10);
  });

  test('a label that never ends', async () => {
    const piece = Buffer.alloc(1_000_000, 0x20);
    let pieces = 0;
    const url = await liar((request, response) => {
      if (!request.url?.startsWith(LABELS_PATH)) {
        response.writeHead(404).end();
        return;
      }
      response.writeHead(200);
      const more = () => {
        while (!response.destroyed && pieces++ < 2000 && response.write(piece));
      };
      response.on('drain', more);
      more();
    });
    const ran = await shop.assay(['restore', '--remote', url, 'key', 'out', '--fallback', 'k'], {
      form: 'bundle',
    });
    expect(ran).toMatchObject({ code: 0, stdout: 'assay: nothing is stored under key for these paths\n' });
    // Only the contents of the socket buffers were sent.
    expect(pieces).toBeGreaterThan(0);
    expect(pieces).toBeLessThan(50);
  });
});
