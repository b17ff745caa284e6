// Reads the message of a gRPC call with a single request message.
import { AssayError } from '../../core/errors.ts';
import { Deframer } from '../../core/grpc/frame.ts';
import type { BodyReader } from '../http/body-reader.ts';

/** Throws unless the body is exactly one complete message of at most `maxBytes`. */
export async function readMessage(body: BodyReader, maxBytes: number): Promise<Buffer> {
  const deframer = new Deframer(maxBytes);
  const messages: Buffer[] = [];
  await body.readAll((piece) => messages.push(...deframer.push(piece)));
  const [only, ...more] = messages;
  if (!deframer.isBetweenMessages)
    throw new AssayError('ASSAY_SIZE_MISMATCH', 'the call ended in the middle of a message');
  if (!only || more.length > 0)
    throw new AssayError(
      'ASSAY_MESSAGE_MALFORMED',
      `this method takes one message, but the call has ${messages.length}`,
    );
  return only;
}
