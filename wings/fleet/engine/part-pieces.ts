// The content of one part of an upload, as it arrives: what fits in a row, or segments for objects.
import type { ContentHash } from '../../../store/shared/content-hash.ts';
import type { IncomingPart } from '../../../store/shared/incoming-part.ts';
import type { Expected } from '../../../store/store.ts';
import { FLEET } from '../limits.ts';

/** The upload to which a part belongs. */
export interface ReceivingUpload {
  readonly expected: Expected;
  readonly committed: number;
  /** Of all bytes so far. Undefined if another node has received some of them. */
  readonly hash: ContentHash | undefined;
}

/** The content of a part, piece by piece. A failure of the sender ends it and is kept. */
export class PartPieces {
  readonly #upload: ReceivingUpload;
  readonly #incoming: IncomingPart;
  failure: { readonly cause: unknown } | undefined;
  isEnded = false;
  /** More bytes arrived than were announced. */
  isTooLong = false;
  /** Of the whole upload. */
  received: number;

  constructor(upload: ReceivingUpload, incoming: IncomingPart) {
    this.#upload = upload;
    this.#incoming = incoming;
    this.received = upload.committed;
  }

  /** All that is left, or more than FLEET.inlineBytes of it, as a copy. */
  async takeSmall(): Promise<Buffer> {
    const taken: Buffer[] = [];
    for (let size = 0; size <= FLEET.inlineBytes; ) {
      const piece = await this.#next();
      if (!piece) break;
      taken.push(Buffer.from(piece));
      size += piece.byteLength;
    }
    return Buffer.concat(taken);
  }

  /** Up to FLEET.segmentBytes, and to the end of a piece. */
  async *segment(first: Buffer): AsyncGenerator<Uint8Array> {
    yield first;
    for (let size = first.length; size < FLEET.segmentBytes; ) {
      const piece = await this.#next();
      if (!piece) return;
      yield piece;
      size += piece.byteLength;
    }
  }

  async #next(): Promise<Uint8Array | undefined> {
    if (this.isEnded) return undefined;
    const piece = await this.#incoming.next().catch((cause: unknown) => {
      this.failure = { cause };
      return undefined;
    });
    this.received += piece?.byteLength ?? 0;
    this.isTooLong = this.received > (this.#upload.expected.size ?? Number.POSITIVE_INFINITY);
    this.isEnded = !piece || this.isTooLong;
    if (this.isEnded) return undefined;
    if (piece) this.#upload.hash?.update(piece);
    return piece;
  }
}
