// A request as a fuzzer sends it: any bytes in any place, also those that no client library would let through.

export interface FuzzRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** How many bytes of the body are announced; it may lie. */
  readonly announced?: number;
}

/** What speaks one protocol. */
export interface FuzzTarget {
  readonly name: string;
  /** A good request, or one that is good in another order. */
  next(): FuzzRequest;
  /** What the server said to one of them, for those who need it for the next. */
  heard?(body: Buffer): void;
}

export function request(
  method: string,
  path: string,
  body: string | Buffer = '',
  headers: Readonly<Record<string, string>> = {},
): FuzzRequest {
  return { method, path, headers, body: Buffer.from(body) };
}

export function bytesOf({ method, path, headers, body, announced = body.length }: FuzzRequest): Buffer {
  const lines = Object.entries({ host: 'localhost', ...headers, 'content-length': String(announced) });
  const head = [`${method} ${path} HTTP/1.1`, ...lines.map(([name, value]) => `${name}: ${value}`), '', ''];
  return Buffer.concat([Buffer.from(head.join('\r\n'), 'latin1'), body]);
}
