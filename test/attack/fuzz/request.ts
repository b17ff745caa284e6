// A request as a fuzzer sends it: arbitrary bytes anywhere, including those that no client library would
// send.

export interface FuzzRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** The announced length of the body, which may be wrong. */
  readonly announced?: number;
}

/** A generator of requests for one protocol. */
export interface FuzzTarget {
  readonly name: string;
  /** A valid request, possibly out of order. */
  next(): FuzzRequest;
  /** Receives the response, for a protocol whose next request needs it. */
  received?(body: Buffer): void;
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
