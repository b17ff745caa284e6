// Checksums in the headers of a request: Content-MD5 and the checksums of S3.
// A body that does not match its checksum is not stored.
import { createHash, hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { crc32 } from 'node:zlib';
import { AssayError } from '../../../core/errors.ts';
import { crc32c } from './crc32c.ts';

type Content = Buffer | AsyncIterable<Buffer>;

/** Both methods return base64, as in the headers. */
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

/**
 * The same content, verified. A Buffer is verified at once. A stream throws at its end if it does not match.
 */
export function withChecksums(content: Content, headers: IncomingHttpHeaders): Content {
  let checked = content;
  for (const name of NAMES) {
    const announced = headers[name];
    if (announced !== undefined) checked = verified(checked, name, String(announced));
  }
  return checked;
}

function verified(content: Content, name: string, announced: string): Content {
  const checksum = CHECKSUMS[name];
  if (!checksum) return content;
  const compare = (computed: string) => {
    if (computed !== announced) throw mismatch(name, announced, computed);
  };
  if (!Buffer.isBuffer(content)) return verifiedAtEnd(content, checksum, compare);
  compare(checksum.ofWhole(content));
  return content;
}

async function* verifiedAtEnd(
  pieces: AsyncIterable<Buffer>,
  checksum: Checksum,
  compare: (computed: string) => void,
): AsyncGenerator<Buffer> {
  const running = checksum.ofPieces();
  for await (const piece of pieces) {
    running.update(piece);
    yield piece;
  }
  compare(running.digest());
}

function mismatch(name: string, announced: string, computed: string): AssayError {
  return new AssayError(
    'ASSAY_DIGEST_MISMATCH',
    `${name} is ${announced.slice(0, 80)}, but the body has ${computed}`,
  );
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
