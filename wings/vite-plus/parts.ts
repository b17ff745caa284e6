// The parts of a multipart body, read one after the other as they arrive.
// Guarantee: a part that is cut short, or belongs to a body that is not well formed to its end, never ends for the one who
// reads it: the read throws.
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import { AssayError, messageOf } from '../../core/errors.ts';
import { VITE_PLUS } from './limits.ts';

/** Reads a part to its end. It may keep none of the pieces. */
type TakePart = (name: string, content: AsyncIterable<Buffer>) => Promise<void>;

/** `expected`: the names that a part may have, each at most once. Resolves when all parts are taken. */
export async function readParts(
  body: AsyncIterable<Buffer>,
  contentType: string,
  expected: readonly string[],
  take: TakePart,
): Promise<void> {
  const parser = parserOf(contentType, expected.length);
  const left = new Set(expected);
  const open = new Set<Readable>();
  const taken: Promise<void>[] = [];
  let failure: { readonly error: unknown } | undefined;
  const fail = (error: unknown): void => {
    failure ??= { error };
    const reason = error instanceof Error ? error : new Error(messageOf(error));
    for (const stream of [parser, ...open]) stream.destroy(reason);
  };
  const begin = async (name: string, content: Readable): Promise<void> => {
    if (!left.delete(name))
      throw badBody(`a part ${JSON.stringify(String(name).slice(0, 40))} was not expected`);
    await take(name, piecesOf(content));
  };
  parser.on('file', (name, content) => {
    open.add(content);
    content.on('error', () => {});
    content.on('close', () => open.delete(content));
    taken.push(begin(name, content).catch(fail));
  });
  parser.on('partsLimit', () => fail(badBody(`it has more than ${expected.length} parts`)));
  try {
    await pipeline(copied(body), parser);
  } catch (error) {
    fail(error instanceof AssayError ? error : badBody(messageOf(error)));
  }
  await Promise.all(taken);
  if (failure) throw failure.error;
}

/** The parser says with an error of its own that a part is cut short. */
async function* piecesOf(content: Readable): AsyncGenerator<Buffer> {
  try {
    yield* content;
  } catch (error) {
    throw error instanceof AssayError ? error : badBody(messageOf(error));
  }
}

/** A piece of a body is valid only until the next one is asked for. The parser keeps pieces. */
async function* copied(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const piece of body) yield Buffer.from(piece);
}

function parserOf(contentType: string, parts: number): BusboyInstance {
  if (!/^multipart\/form-data\s*;/i.test(contentType))
    throw badBody('the content type is multipart/form-data');
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      /** Every part is bytes. A field would be decoded as text. */
      isPartAFile: () => true,
      limits: {
        parts,
        headerPairs: VITE_PLUS.maxPartHeaders,
        headerSize: VITE_PLUS.maxPartHeaderBytes,
      },
    });
  } catch (error) {
    throw badBody(messageOf(error));
  }
}

function badBody(why: string): AssayError {
  return new AssayError('ASSAY_BAD_MESSAGE', `not a multipart body of this protocol: ${why.slice(0, 200)}`);
}
