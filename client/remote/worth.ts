// Decides whether a download is worth its time: the rest must take less time than the command. The speed is
// measured. The measured speed of a remote also decides about its next download before that starts.
import { REMOTE } from '../limits.ts';
import type { Remote } from './remote.ts';
import { type ThreadTime, threadTimeMs } from './thread-time.ts';

/** Only this download is too slow; the remote stays in use. */
export class TooSlow extends Error {
  constructor(expectedMs: number, worthMs: number) {
    super(
      `its download would take ${seconds(expectedMs)}, which is longer than the command takes (${seconds(worthMs)})`,
    );
    this.name = 'TooSlow';
  }
}

interface Speed {
  bytes: number;
  milliseconds: number;
}

const speeds = new WeakMap<Remote, Speed>();

export class Worth {
  readonly #bytes: number;
  readonly #worthMs: number;
  readonly #speed: Speed;
  readonly #clock: () => number;
  readonly #beganAt: number;
  #countedTo: number;
  #received = 0;

  /** `commandMs`: undefined if unknown; then the download may take as long as over a slow line. */
  constructor(
    remote: Remote,
    bytes: number,
    commandMs: number | undefined,
    now: () => number = Date.now,
    own: ThreadTime = threadTimeMs,
  ) {
    this.#bytes = bytes;
    const slowly = REMOTE.unknownWorthMs + (bytes / REMOTE.slowBytesPerSecond) * 1000;
    this.#worthMs = Math.max(commandMs ?? slowly, REMOTE.sampleMs);
    this.#speed = speeds.get(remote) ?? { bytes: 0, milliseconds: 0 };
    speeds.set(remote, this.#speed);
    this.#clock = () => now() - own();
    this.#beganAt = this.#countedTo = this.#clock();
    if (this.#speed.milliseconds >= REMOTE.sampleMs) this.#judge(this.#speed);
  }

  /** Throws TooSlow if the rest would take too long. */
  received(bytes: number): void {
    const now = this.#clock();
    this.#received += bytes;
    this.#speed.bytes += bytes;
    this.#speed.milliseconds += now - this.#countedTo;
    this.#countedTo = now;
    const elapsed = now - this.#beganAt;
    if (elapsed < REMOTE.sampleMs) return;
    // Twice the time has passed, whatever the forecast.
    if (elapsed > 2 * this.#worthMs && this.#received < this.#bytes)
      throw new TooSlow(elapsed, this.#worthMs);
    this.#judge({ bytes: this.#received, milliseconds: elapsed });
  }

  #judge({ bytes, milliseconds }: Speed): void {
    const rest = ((this.#bytes - this.#received) * milliseconds) / Math.max(1, bytes);
    if (rest > this.#worthMs) throw new TooSlow(rest, this.#worthMs);
  }
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(milliseconds < 10_000 ? 1 : 0)} s`;
}
