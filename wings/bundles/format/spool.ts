// A manifest that is written or received, in a temporary file without a name: a killed process leaves none. It also computes
// the size and the SHA-256 of the manifest.
import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { freeBuffers } from '../../../core/bun.ts';
import { type Hash, parseHash } from '../../../core/digest.ts';
import { removeTemporaryFolder, temporaryFolder } from '../../../system/files/temporary-folder.ts';
import { BUNDLE } from '../limits.ts';
import { SLICE_BYTES } from './layout.ts';
import { damaged } from './tar.ts';

const NEWLINE = 0x0a;

export class Spool {
  readonly #file: number;
  readonly #sha256 = createHash('sha256');
  #buffered: Buffer[] = [];
  #bufferedBytes = 0;
  #written = 0;

  constructor() {
    const folder = temporaryFolder('bundle');
    try {
      this.#file = openSync(join(folder, 'manifest'), 'wx+', 0o600);
      rmSync(join(folder, 'manifest'));
    } finally {
      removeTemporaryFolder(folder);
    }
  }

  get bytes(): number {
    return this.#written + this.#bufferedBytes;
  }

  add(bytes: Buffer): void {
    this.#sha256.update(bytes);
    this.#buffered.push(bytes);
    this.#bufferedBytes += bytes.length;
    if (this.#bufferedBytes >= SLICE_BYTES) this.#flush();
  }

  /** Of the whole manifest. Nothing can be added afterwards. */
  hash(): Hash {
    this.#flush();
    return parseHash(this.#sha256.digest('hex'));
  }

  *slices(): Generator<Buffer> {
    this.#flush();
    for (let at = 0; at < this.#written; at += SLICE_BYTES) {
      const slice = Buffer.allocUnsafe(Math.min(SLICE_BYTES, this.#written - at));
      for (let filled = 0; filled < slice.length; ) {
        const read = readSync(this.#file, slice, filled, slice.length - filled, at + filled);
        if (read === 0) throw damaged('the temporary copy of the manifest was cut');
        filled += read;
      }
      yield slice;
    }
  }

  /** Each with its line break. */
  *lines(): Generator<string> {
    yield* linesIn(this.slices());
  }

  close(): void {
    closeSync(this.#file);
  }

  #flush(): void {
    for (const bytes of this.#buffered) {
      for (let done = 0; done < bytes.length; )
        done += writeSync(this.#file, bytes, done, bytes.length - done, this.#written + done);
      this.#written += bytes.length;
    }
    this.#buffered = [];
    this.#bufferedBytes = 0;
    freeBuffers();
  }
}

function* linesIn(slices: Iterable<Buffer>): Generator<string> {
  let begun: Buffer[] = [];
  let begunBytes = 0;
  for (const slice of slices) {
    let from = 0;
    for (let end = slice.indexOf(NEWLINE); end !== -1; end = slice.indexOf(NEWLINE, from)) {
      begun.push(slice.subarray(from, end + 1));
      yield Buffer.concat(begun).toString();
      [begun, begunBytes, from] = [[], 0, end + 1];
    }
    freeBuffers();
    begun.push(slice.subarray(from));
    begunBytes += slice.length - from;
    if (begunBytes > BUNDLE.maxLineBytes) throw damaged('a line of the manifest is too long');
  }
  if (begunBytes > 0) throw damaged('the last line of the manifest is cut');
}
