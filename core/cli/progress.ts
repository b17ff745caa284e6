// The output of a long command: its progress on standard error, its report on standard output.
// The first line of progress comes at once, the others from time to time. With --json both are JSON.
import { CLI } from '../limits.ts';

export class Telling {
  readonly #json: boolean;
  #shownAt = Number.NEGATIVE_INFINITY;

  constructor(json: boolean) {
    this.#json = json;
  }

  progress(progress: object, text: () => string): void {
    const now = performance.now();
    if (now - this.#shownAt < (this.#json ? CLI.progressJsonMs : CLI.progressMs)) return;
    this.#shownAt = now;
    process.stderr.write(`${this.#json ? JSON.stringify(progress) : `assay: ${text()}`}\n`);
  }

  report(report: object, text: string): void {
    process.stdout.write(`${this.#json ? JSON.stringify(report) : text}\n`);
  }
}
