// The go command's requests and responses as JSON (cmd/go/internal/cacheprog in Go's sources).
import { AssayError } from '../../core/errors.ts';
import type { RequestReader } from './request-reader.ts';

export type Request =
  | { readonly command: 'get'; readonly id: number; readonly actionId: Buffer }
  | {
      readonly command: 'put';
      readonly id: number;
      readonly actionId: Buffer;
      readonly outputId: Buffer;
      readonly bodySize: number;
      /** Must be read to its end before the next request. */
      readonly body: AsyncIterable<Buffer>;
    }
  | { readonly command: 'close'; readonly id: number }
  /** A request that gets an error response. */
  | { readonly command: 'unknown'; readonly id: number; readonly why: string };

/** The names and types of the go command's protocol; bytes are base64. */
export interface Answer {
  readonly ID: number;
  readonly Err?: string;
  readonly KnownCommands?: readonly string[];
  readonly Miss?: boolean;
  readonly OutputID?: string;
  readonly Size?: number;
  readonly Time?: string;
  readonly DiskPath?: string;
}

/** Undefined at the end of the stream. Throws ASSAY_BAD_WIRE for a request without an ID to answer to. */
export async function readRequest(wire: RequestReader): Promise<Request | undefined> {
  const line = await wire.line();
  if (line === undefined) return undefined;
  const fields = parseFields(line);
  const id = fields.get('ID');
  if (!isCount(id)) throw badWire('a request without an ID');
  const command = fields.get('Command');
  if (command === 'close') return { command, id };
  const actionId = bytes(fields.get('ActionID'));
  if (command === 'get') {
    return actionId
      ? { command, id, actionId }
      : { command: 'unknown', id, why: 'a get without an ActionID' };
  }
  if (command === 'put') return putRequest(id, actionId, fields, wire);
  return { command: 'unknown', id, why: 'an unknown command' };
}

async function putRequest(
  id: number,
  actionId: Buffer | undefined,
  fields: ReadonlyMap<string, unknown>,
  wire: RequestReader,
): Promise<Request> {
  const bodySize = fields.get('BodySize') ?? 0;
  if (!isCount(bodySize)) throw badWire('an invalid BodySize');
  const body = bodySize > 0 ? wire.body() : nothing();
  // Named ObjectID before Go 1.24.
  const outputId = bytes(fields.get('OutputID') ?? fields.get('ObjectID'));
  if (actionId && outputId) return { command: 'put', id, actionId, outputId, bodySize, body };
  for await (const _ of body);
  return { command: 'unknown', id, why: 'a put without ActionID or OutputID' };
}

async function* nothing(): AsyncGenerator<Buffer> {}

function parseFields(line: string): ReadonlyMap<string, unknown> {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'object' && value !== null) return new Map(Object.entries(value));
  } catch {
    // Reported below.
  }
  throw badWire(`not a request: ${JSON.stringify(line.slice(0, 80))}`);
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function bytes(value: unknown): Buffer | undefined {
  if (typeof value !== 'string' || value === '') return undefined;
  const decoded = Buffer.from(value, 'base64');
  return decoded.toString('base64') === value ? decoded : undefined;
}

function badWire(what: string): AssayError {
  return new AssayError('ASSAY_BAD_WIRE', what);
}
