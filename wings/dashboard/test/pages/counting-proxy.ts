// A proxy between real tools and a server, which counts what a person would call requests and bytes.
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface Traffic {
  requests: number;
  /** Of the bodies of requests. */
  received: number;
  /** Of the bodies of successful answers to GET that have content of the cache. */
  sent: number;
  /** The bodies of POST. */
  readonly told: { readonly path: string; readonly body: string }[];
}

export interface CountingProxy extends Traffic {
  readonly url: string;
}

/** Turborepo asks whether it may use the cache. The answer is no content of it. */
const STATUS = /^\/v8\/artifacts\/status\b/;

/** Closed when the test is finished. */
export async function countingProxy(target: string): Promise<CountingProxy> {
  const traffic: Traffic = { requests: 0, received: 0, sent: 0, told: [] };
  const { hostname, port } = new URL(target);
  const server = createServer((asked, answer) => {
    const { method, url = '', headers } = asked;
    const body: Buffer[] = [];
    traffic.requests++;
    const forwarded = request({ hostname, port, method, path: url, headers }, (response) => {
      answer.writeHead(response.statusCode ?? 502, response.rawHeaders);
      const isContent = method === 'GET' && response.statusCode === 200 && !STATUS.test(url);
      response.on('data', ({ length }: Buffer) => {
        if (isContent) traffic.sent += length;
      });
      response.pipe(answer);
    });
    forwarded.on('error', () => answer.destroy());
    asked.on('data', (piece: Buffer) => {
      traffic.received += piece.length;
      body.push(piece);
    });
    asked.on('end', () => {
      if (method === 'POST') traffic.told.push({ path: url, body: Buffer.concat(body).toString() });
    });
    asked.pipe(forwarded);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port: own } = server.address() as AddressInfo;
  return Object.assign(traffic, { url: `http://127.0.0.1:${own}` });
}
