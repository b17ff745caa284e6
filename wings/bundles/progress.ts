// The progress of an export or import on standard error: on a terminal one line that changes, in a log one line a second, with
// --json one object a second. The report goes to standard output, or to standard error if the bundle goes there.
import { SyncStream } from '../../client/terminal/sync-stream.ts';
import { visible } from '../../core/text/visible.ts';
import { BUNDLE } from './limits.ts';

const CLEAR_LINE = '\r\x1b[K';

export class ShownProgress {
  readonly #screen = new SyncStream(2);
  readonly #report: SyncStream;
  readonly #prefix: string;
  readonly #json: boolean;
  readonly #isTerminal: boolean;
  #shownAt = performance.now();
  #hasLine = false;

  /** `reportStream`: the descriptor that the report goes to. */
  constructor(command: string, json: boolean, reportStream: 1 | 2 = 1) {
    this.#prefix = `assay ${command}: `;
    this.#report = new SyncStream(reportStream);
    this.#json = json;
    this.#isTerminal = !json && this.#screen.isTTY;
  }

  show(progress: object, text: () => string): void {
    const now = performance.now();
    if (now - this.#shownAt < (this.#isTerminal ? BUNDLE.terminalMs : BUNDLE.logMs)) return;
    this.#shownAt = now;
    if (this.#json) this.#screen.write(`${JSON.stringify(progress)}\n`);
    else if (this.#isTerminal) {
      const line = `${this.#prefix}${visible(text())}`;
      this.#screen.write(`${CLEAR_LINE}${line.slice(0, Math.max(20, this.#screen.columns - 1))}`);
      this.#hasLine = true;
    } else this.#screen.write(`${this.#prefix}${visible(text())}\n`);
  }

  /** Nothing of the progress stays on a terminal. */
  end(): void {
    if (this.#hasLine) this.#screen.write(CLEAR_LINE);
    this.#hasLine = false;
  }

  report(report: object, text: string): void {
    this.end();
    this.#report.write(`${this.#json ? JSON.stringify(report) : this.#prefix + text}\n`);
  }
}
