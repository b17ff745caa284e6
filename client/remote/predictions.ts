// Decides whether to ask a server for predicted results: the result that a listed path set led to when it was
// recorded. A right prediction saves a round trip. A wrong one costs bytes, so a client whose predictions are
// wrong more often than right stops asking.
import { REMOTE } from '../limits.ts';

export class Predictions {
  #surplus = 0;

  /** How many bytes of a prediction the client accepts; 0 if it wants none. */
  get acceptedBytes(): number {
    return this.#surplus > REMOTE.wrongPredictions ? 0 : REMOTE.inlinedBlobsBytes;
  }

  noteRight(): void {
    this.#surplus = Math.max(0, this.#surplus - 1);
  }

  noteWrong(): void {
    this.#surplus++;
  }
}
