// Compares the announced digest with the content that arrived. Every put is refused here if they differ.
import type { Digest } from '../../core/digest.ts';
import { AssayError } from '../../core/errors.ts';
import type { Content, Expected } from '../store.ts';

/** The whole content as a copy of our own. Stops as soon as more bytes arrive than were announced. */
export async function collect(expected: Expected, content: Content): Promise<Buffer> {
  if (content instanceof Uint8Array) return Buffer.from(content);
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of content) {
    size += piece.byteLength;
    refuseExcess(expected, size);
    pieces.push(Buffer.from(piece));
  }
  return Buffer.concat(pieces);
}

export function refuseExcess({ size: announced }: Expected, arrived: number): void {
  if (announced !== undefined && arrived > announced) {
    throw new AssayError('ASSAY_SIZE_MISMATCH', `more than the announced ${announced} bytes arrived`);
  }
}

export function refuseMismatch(expected: Expected, actual: Digest): void {
  if (expected.size !== undefined && expected.size !== actual.size) {
    throw new AssayError('ASSAY_SIZE_MISMATCH', `${expected.size} bytes announced, ${actual.size} arrived`);
  }
  if (expected.hash !== undefined && expected.hash !== actual.hash) {
    throw new AssayError('ASSAY_DIGEST_MISMATCH', `announced ${expected.hash}, arrived ${actual.hash}`);
  }
}
