// What a client may say about the body that it sends: Content-MD5, and the checksums of S3. A body that does not have one of
// them was changed on its way, and is not kept.
import { createHash, hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { crc32 } from 'node:zlib';
import { AssayError } from '../../../core/errors.ts';
import { crc32c } from './crc32c.ts';

type Content = Buffer | AsyncIterable<Buffer>;

/** In base64, as all of these headers have it. */
interface Checksum {
  ofWhole(content: Buffer): string;
  ofPieces(): { update(piece: Buffer): unknown; digest(): string };
}

const CHECKSUMS: Readonly<Record<string, Checksum>> = {
  'content-md5': hashBy('md5'),
  'x-amz-checksum-crc32': crcBy(crc32),
  'x-amz-checksum-crc32c': crcBy(crc32c),
  'x-amz-checksum-sha1': hashBy('sha1'),
  'x-amz-checksum-sha256': hashBy('sha256'),
};
const NAMES = Object.keys(CHECKSUMS);

export function isChecked(header: string): boolean {
  return Object.hasOwn(CHECKSUMS, header);
}

/** The same content, which fails at its end, or at once where it is whole, if it is not what was announced. */
export function withChecksums(content: Content, headers: IncomingHttpHeaders): Content {
  let checked = content;
  for (const name of NAMES) {
    const announced = headers[name];
    if (announced !== undefined) checked = having(checked, name, String(announced));
  }
  return checked;
}

function having(content: Content, name: string, announced: string): Content {
  const checksum = CHECKSUMS[name];
  if (!checksum) return content;
  const refuseOther = (arrived: string) => {
    if (arrived !== announced) throw otherThan(name, announced, arrived);
  };
  if (!Buffer.isBuffer(content)) return passedOn(content, checksum, refuseOther);
  refuseOther(checksum.ofWhole(content));
  return content;
}

async function* passedOn(
  pieces: AsyncIterable<Buffer>,
  checksum: Checksum,
  refuseOther: (arrived: string) => void,
): AsyncGenerator<Buffer> {
  const running = checksum.ofPieces();
  for await (const piece of pieces) {
    running.update(piece);
    yield piece;
  }
  refuseOther(running.digest());
}

function otherThan(name: string, announced: string, arrived: string): AssayError {
  return new AssayError('ASSAY_DIGEST_MISMATCH', `${name} is ${announced.slice(0, 80)}, arrived ${arrived}`);
}

function hashBy(algorithm: string): Checksum {
  return {
    ofWhole: (content) => hash(algorithm, content, 'base64'),
    ofPieces() {
      const running = createHash(algorithm);
      return { update: (piece) => running.update(piece), digest: () => running.digest('base64') };
    },
  };
}

function crcBy(crc: (bytes: Buffer, before?: number) => number): Checksum {
  return {
    ofWhole: (content) => inBase64(crc(content)),
    ofPieces() {
      let sum = 0;
      return {
        update(piece) {
          sum = crc(piece, sum);
        },
        digest: () => inBase64(sum),
      };
    },
  };
}

function inBase64(crc: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc);
  return bytes.toString('base64');
}
