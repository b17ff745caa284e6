// Content-MD5: what clients of S3 and Azure may say about a body. One that does not have it was changed on its way.
import { createHash, hash } from 'node:crypto';
import { AssayError } from '../../core/errors.ts';

type Content = Buffer | AsyncIterable<Buffer>;

/** The same content, which fails at its end, or at once where it is whole, if it has another MD5. */
export function havingMd5(content: Content, announced: string): Content {
  if (!Buffer.isBuffer(content)) return passedOn(content, announced);
  refuseOther(hash('md5', content, 'base64'), announced);
  return content;
}

async function* passedOn(pieces: AsyncIterable<Buffer>, announced: string): AsyncGenerator<Buffer> {
  const md5 = createHash('md5');
  for await (const piece of pieces) {
    md5.update(piece);
    yield piece;
  }
  refuseOther(md5.digest('base64'), announced);
}

function refuseOther(arrived: string, announced: string): void {
  if (arrived === announced) return;
  throw new AssayError(
    'ASSAY_DIGEST_MISMATCH',
    `Content-MD5 is ${announced.slice(0, 80)}, arrived ${arrived}`,
  );
}
