// Writes the body of an HTTP/1 response, one piece after the other, under the minimum rate.
// Guarantee: when a write settles with true, the kernel has the whole piece, and its memory may be reused.
import type { ServerResponse } from 'node:http';
import type { MinRate, Transfer } from '../capacity/min-rate.ts';

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

  /** False if the client is gone or was cut for slowness. */
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

  /** False if the client did not take all bytes. */
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
