// The slow clients, in a process of the lowest priority, so that their own work does not count as the
// server's delay. A client that is cut reconnects at once, unless --once. The first message connects all of
// them, the second disconnects them.
import { once } from 'node:events';
import { constants, getPriority, setPriority } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { Dribbler, type Manner } from '../../test/rig/slow-sockets.ts';

export interface CrowdJob {
  readonly port: number;
  readonly manners: readonly Manner[];
  readonly sockets: number;
  readonly comesBack: boolean;
}

export interface Dispersed {
  readonly cut: number;
  /** Of clients that can notice that they were cut. */
  readonly longestLifeMs: number;
}

const DRIBBLE_MS = 500;
/** New connections at a time. More would measure the kernel's queue of new connections. */
const AT_ONCE = 20;
/** A client that does not read never notices that it was cut. It reconnects after this time. */
const UNREAD_MS = 12_000;

class Crowd {
  readonly #job: CrowdJob;
  readonly #dribblers: Dribbler[] = [];
  #isOver = false;
  #cut = 0;
  #longestLifeMs = 0;

  constructor(job: CrowdJob) {
    this.#job = job;
  }

  async gather(): Promise<void> {
    for (let number = 0; number < this.#job.sockets; number++) {
      this.#open(number);
      if (number % AT_ONCE === AT_ONCE - 1) await wait(AT_ONCE);
    }
  }

  #open(number: number): void {
    const { port, manners } = this.#job;
    const manner = manners[number % manners.length];
    if (!manner) throw new Error('there is no manner');
    const dribbler = new Dribbler(port, manner);
    this.#dribblers[number] = dribbler;
    if (!manner.reads) setTimeout(() => dribbler.end(), UNREAD_MS).unref();
    dribbler.lifeMs().then((lifeMs) => {
      if (this.#isOver) return;
      this.#cut++;
      if (manner.reads) this.#longestLifeMs = Math.max(this.#longestLifeMs, lifeMs);
      if (this.#job.comesBack) this.#open(number);
    });
  }

  async dribble(): Promise<void> {
    const { sockets } = this.#job;
    while (!this.#isOver) {
      // A few at a time, spread over the half second.
      for (let number = 0; number < sockets; number++) {
        this.#dribblers[number]?.dribble();
        if (number % AT_ONCE === 0) await wait((DRIBBLE_MS * AT_ONCE) / sockets);
      }
    }
  }

  disperse(): Dispersed {
    this.#isOver = true;
    for (const dribbler of this.#dribblers) dribbler.end();
    return { cut: this.#cut, longestLifeMs: this.#longestLifeMs };
  }
}

setPriority(Math.min(constants.priority.PRIORITY_LOW, getPriority() + 10));
const [job]: CrowdJob[] = await once(process, 'message');
if (!job) throw new Error('there is no job');
const crowd = new Crowd(job);
await crowd.gather();
const dribbling = crowd.dribble();
process.send?.('gathered');
await once(process, 'message');
process.send?.(crowd.disperse());
await dribbling;
process.disconnect?.();
