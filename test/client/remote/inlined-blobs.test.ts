// Inlined blobs are held until a run asks for them, within limits; and a run requests little else.

import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { request as ask, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { REMOTE } from '../../../client/limits.ts';
import { InlinedBlobs } from '../../../client/remote/inlined-blobs.ts';
import { digestOf, parseHash } from '../../../core/digest.ts';
import { appendBlobs, splitBlobs } from '../../../core/inlined-blobs.ts';
import { ActionResult } from '../../../core/proto/generated/reapi.ts';
import { emptyResult } from '../../../core/result.ts';
import { Workshop } from '../../rig/assay.ts';
import { Random } from '../../rig/random.ts';
import { ServerProcess } from '../../rig/server.ts';

const SEED = Number(process.env.ASSAY_TEST_SEED ?? 20261116);
const RESULT = Buffer.from(
  ActionResult.encode({ ...emptyResult(7), stdoutRaw: Buffer.from('said') }).finish(),
);
const inlinedBlob = (bytes: Buffer) => ({ hash: digestOf(bytes).hash, bytes });

test('an inlined blob is taken only once', () => {
  const held = new InlinedBlobs();
  const one = inlinedBlob(Buffer.from('one'));
  expect(held.receive(appendBlobs({ result: RESULT, blobs: [one] })).equals(RESULT)).toBe(true);
  expect(held.take(one.hash)?.toString()).toBe('one');
  expect(held.take(one.hash)).toBeUndefined();
});

test('the oldest inlined blobs are dropped at the limit', () => {
  const held = new InlinedBlobs();
  const random = new Random(SEED);
  const size = REMOTE.inlinedBlobsBytes / 2;
  const fit = Math.floor(REMOTE.heldInlinedBytes / (size + 512));
  const blobs = Array.from({ length: fit + 2 }, () => inlinedBlob(random.bytes(size)));
  for (const one of blobs) held.receive(appendBlobs({ result: RESULT, blobs: [one] }));
  const there = blobs.map(({ hash }) => held.take(hash) !== undefined);
  expect(there).toEqual([false, false, ...Array(fit).fill(true)]);
  const one = inlinedBlob(Buffer.from('after'));
  held.receive(appendBlobs({ result: RESULT, blobs: [one, one] }));
  expect(held.take(one.hash)?.toString()).toBe('after');
});

test('no more of one response is held than was requested', () => {
  const held = new InlinedBlobs();
  const random = new Random(SEED);
  const blobs = Array.from({ length: 3 }, () => inlinedBlob(random.bytes(REMOTE.inlinedBlobsBytes / 2 - 40)));
  expect(held.receive(appendBlobs({ result: RESULT, blobs })).equals(RESULT)).toBe(true);
  expect(blobs.map(({ hash }) => held.take(hash) !== undefined)).toEqual([true, true, false]);
});

test('empty blobs count towards the limit too', () => {
  const held = new InlinedBlobs();
  const number = (at: number) => parseHash(at.toString(16).padStart(64, '0'));
  const [each, answers] = [6_000, 10];
  for (let answer = 0; answer < answers; answer++) {
    const blobs = Array.from({ length: each }, (_, at) => {
      return { hash: number(answer * each + at), bytes: Buffer.alloc(0) };
    });
    held.receive(appendBlobs({ result: RESULT, blobs }));
  }
  const all = Array.from({ length: each * answers }, (_, at) => held.take(number(at)));
  const left = all.filter((one) => one !== undefined).length;
  expect(left).toBe(REMOTE.heldInlinedBytes / 512);
});

test(`a truncated or corrupted response is split into result and blobs, or is all result (seed ${SEED})`, () => {
  const random = new Random(SEED);
  const whole = appendBlobs({
    result: RESULT,
    blobs: Array.from({ length: 5 }, () => inlinedBlob(random.bytes(random.below(100)))),
  });
  for (let trial = 0; trial < 20_000; trial++) {
    const bent = Buffer.from(whole.subarray(0, random.below(whole.length + 1)));
    for (let times = random.below(3); times > 0 && bent.length > 0; times--)
      bent[random.below(bent.length)] = random.below(256);
    const { result } = splitBlobs(bent);
    expect(bent.subarray(0, result.length).equals(result)).toBe(true);
  }
});

interface ProxyOptions {
  /** What the proxy makes of the URL. */
  readonly rewrite?: (path: string) => string;
  /** What it makes of every response with a result. */
  readonly spoil?: (body: Buffer) => Buffer;
}

/** Requests no prediction, as a client of a server that knows none gets none. */
const withoutPrediction = (path: string) => path.replace(/\?inlined=\d+(&step=[0-9a-f]+)?$/, '');

async function proxyTo(url: string, { rewrite = (path) => path, spoil = (body) => body }: ProxyOptions = {}) {
  const asked: string[] = [];
  const proxy = createServer((incoming, answer) => {
    const { method = 'GET', headers } = incoming;
    const path = rewrite(incoming.url ?? '/');
    asked.push(`${method} ${path.split('/')[1]}`);
    const passedOn = ask(`${url}${path}`, { method, headers }, (got) => {
      const chunks: Buffer[] = [];
      got.on('data', (chunk: Buffer) => chunks.push(chunk));
      got.on('end', () => {
        const whole = Buffer.concat(chunks);
        const isSpoilt = /\?(find|inlined)=/.test(path) && got.statusCode === 200;
        answer.writeHead(got.statusCode ?? 500).end(isSpoilt ? spoil(whole) : whole);
      });
    });
    incoming.pipe(passedOn);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(() => {
    proxy.close();
  });
  return { asked, url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` };
}

async function sharedResult() {
  const shop = new Workshop();
  onTestFinished(() => shop.remove());
  shop.write('in.txt', 'input');
  shop.script(
    'make.sh',
    'mkdir -p out/deep; cp in.txt out/a; cp in.txt out/deep/b; echo c > out/c; echo made it',
  );
  const server = await ServerProcess.start(join(shop.folder, 'server'));
  onTestFinished(() => server.stop());
  const flags = ['--input', 'in.txt', '--input', 'make.sh', '--output', 'out'];
  const build = (remote: string) => shop.run(['--remote', remote, ...flags, '--', './make.sh']);
  expect((await build(server.url)).summary).toMatchObject({ outcome: 'miss', shared: true });
  const forget = () => {
    for (const folder of [shop.store, join(shop.workspace, 'out')]) rmSync(folder, { recursive: true });
  };
  return { server, build, forget, shop };
}

test.each([
  ['takes one request', (path: string) => path, ['GET path-sets']],
  ['at a server without predictions takes two', withoutPrediction, ['GET path-sets', 'GET path-sets']],
])('a hit with small files %s', async (_title, rewrite, asked) => {
  const { server, build, forget, shop } = await sharedResult();
  const proxy = await proxyTo(server.url, { rewrite });
  forget();
  const { summary, stdout } = await build(proxy.url);
  expect(summary).toMatchObject({ outcome: 'hit-remote', outputsWritten: 1 });
  expect(stdout).toContain('made it');
  expect(shop.has('out/deep/b')).toBe(true);
  expect(proxy.asked).toEqual(asked);
});

test.each([
  ['of a prediction', (path: string) => path],
  ['of a result that was asked for', withoutPrediction],
])('a corrupt inlined blob %s causes neither a hit nor a failure', async (_title, rewrite) => {
  const { server, build, forget, shop } = await sharedResult();
  const spoil = (body: Buffer) => {
    body[body.length - 1] = (body.at(-1) ?? 0) ^ 1;
    return body;
  };
  const proxy = await proxyTo(server.url, { rewrite, spoil });
  forget();
  const { summary, code } = await build(proxy.url);
  expect(code).toBe(0);
  expect(summary.outcome).toBe('miss');
  expect(shop.has('out/deep/b')).toBe(true);
});
