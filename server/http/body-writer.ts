// The body of an answer on its way to an HTTP/1 client, a piece at a time: the next one is written when the kernel has taken
// all of the last one. So a client's progress can be seen, and a piece's memory is free when its write settles.
import type { ServerResponse } from 'node:http';
import type { MinRate, Transfer } from '../connection/min-rate.ts';

export class BodyWriter {
  readonly #response: ServerResponse;
  readonly #minRate: MinRate;
  readonly #transfer: Transfer;
  #settle: (isWritten: boolean) => void = () => {};

  constructor(response: ServerResponse, minRate: MinRate) {
    this.#response = response;
    this.#minRate = minRate;
    this.#transfer = minRate.begin(() => {
      response.destroy();
      this.#settle(false);
    });
    response.on('close', this.#onClose);
  }

  readonly #onClose = (): void => this.#settle(false);

  /** False when the client is gone, or was too slow and is now cut off. */
  write(piece: Buffer): Promise<boolean> {
    this.#transfer.startWaiting();
    return new Promise((resolve) => {
      this.#settle = resolve;
      this.#response.write(piece, (error) => {
        this.#transfer.progress(piece.length);
        this.#transfer.stopWaiting();
        resolve(!error);
      });
    });
  }

  /** False when the client did not take all of it. */
  async writeAll(bytes: Buffer, pieceBytes: number): Promise<boolean> {
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      if (!(await this.write(bytes.subarray(at, at + pieceBytes)))) return false;
    }
    return true;
  }

  close(): void {
    this.#minRate.end(this.#transfer);
    this.#response.off('close', this.#onClose);
  }
}
