// Latencies by time window, without windows in which the hypervisor took a processor away (steal time):
// inside the guest, those look like late responses.
import { readFileSync } from 'node:fs';

const WINDOW_MS = 500;

interface Window {
  readonly times: number[];
  readonly ticksBefore: number;
}

export class Windows {
  readonly #whole: number[] = [];
  #current: Window = begin();
  #stolen = 0;
  readonly #timer = setInterval(() => this.#turn(), WINDOW_MS);

  add(time: number): void {
    this.#current.times.push(time);
  }

  /** Sorted. */
  end(): { readonly times: readonly number[]; readonly stolenSeconds: number } {
    clearInterval(this.#timer);
    this.#turn();
    return { times: this.#whole.sort((a, b) => a - b), stolenSeconds: (this.#stolen * WINDOW_MS) / 1000 };
  }

  #turn(): void {
    const { times, ticksBefore } = this.#current;
    this.#current = begin();
    if (this.#current.ticksBefore > ticksBefore) this.#stolen++;
    else this.#whole.push(...times);
  }
}

function begin(): Window {
  return { times: [], ticksBefore: stolenTicks() };
}

/** proc(5): the eighth number of the first line, in hundredths of a second. */
function stolenTicks(): number {
  const [line = ''] = readFileSync('/proc/stat', 'latin1').split('\n');
  return Number(line.trim().split(/\s+/)[8] ?? 0);
}
