// The folder in which a running step requests a checkpoint: it creates a file that ends in ".request". When
// the checkpoint is sealed or has failed, that file is removed and the result stands in a ".answer" file.
//
// Files instead of a socket: a step may write to its own temporary folder and still be hermetic.
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile } from '../../../system/files/replace-file.ts';
import { CHECKPOINT } from '../limits.ts';

export const REQUEST = '.request';
export const ANSWER = '.answer';

export class RequestFolder {
  readonly #folder: string;
  readonly #seal: () => Promise<number | undefined>;
  readonly #timer: NodeJS.Timeout;
  #working = false;

  /** `seal` returns the number of the newest checkpoint; undefined if there is none. */
  constructor(folder: string, seal: () => Promise<number | undefined>) {
    this.#folder = folder;
    this.#seal = seal;
    mkdirSync(folder);
    this.#timer = setInterval(() => void this.#serve(), CHECKPOINT.requestPollMs);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #serve(): Promise<void> {
    if (this.#working) return;
    this.#working = true;
    try {
      const requests = readdirSync(this.#folder).filter((name) => name.endsWith(REQUEST));
      if (requests.length === 0) return;
      const number = await this.#seal();
      for (const name of requests) this.#answer(join(this.#folder, name.slice(0, -REQUEST.length)), number);
    } catch {
      // The step has removed its temporary folder, so it makes no more requests.
    } finally {
      this.#working = false;
    }
  }

  #answer(place: string, number: number | undefined): void {
    replaceFile(place + ANSWER, number === undefined ? '' : String(number));
    rmSync(place + REQUEST, { force: true });
  }
}
