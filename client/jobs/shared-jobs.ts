// The job slots that all runs of a user on this machine share: locks on the bytes of one file in the client folder.
// A helper takes them (hermeticity/native/slots.c), because neither Node nor Bun can lock a file.
//
//   J1  Commands of all runs together hold no more slots than the largest --jobs. A slot ends with its run, also if that
//       is killed: the locks belong to a file that this process has open, and no command inherits it.
//   J2  A run that has had no slot for JOBS.patienceMs has one of its own from then on. One that has a slot waits longer for
//       a further one. So nothing waits for ever, whatever holds the slots: a stopped run, or a server that never ends.
//   J3  A run that a command started has one of its own from the beginning: that of its command. More are of the shared ones.
//   J4  If nothing can be locked (no helper, a read-only folder, a network file system), every command has a slot.
//
// A hit takes no slot, and before the first slot nothing is opened or started.
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, constants, existsSync, openSync, statfsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { helperPath } from '../../hermeticity/trace/native.ts';
import { JOBS } from '../limits.ts';
import { clientFolder, makeClientFolder, PRIVATE_FILE } from '../local-store/client-folder.ts';
import type { Emit } from '../view/events.ts';
import { SLOTS_FILE, slotsOfEnclosingRun } from './enclosing-run.ts';

export interface HeldJob {
  release(): void;
}

export interface JobAsked {
  readonly step: string;
  readonly emit: Emit;
  /** Why the step must not begin its command; undefined if it may. */
  refusal(): string | undefined;
}

export interface SharedJobsOptions {
  readonly storeFolder: string;
  /** As many slots as this run may hold: --jobs. */
  readonly jobs: number;
  readonly patienceMs?: number;
  now(): number;
}

interface Waiter extends JobAsked {
  readonly since: number;
  isTold: boolean;
  end(outcome: HeldJob | string): void;
}

const WITHOUT: HeldJob = { release() {} };

export class SharedJobs {
  readonly #options: SharedJobsOptions;
  readonly #waiting: Waiter[] = [];
  #helper: Helper | undefined;
  #isOpened = false;
  #isUnbounded = false;
  /** The slot that this run need not share (J2, J3). */
  #own: 'none' | 'free' | 'taken' = 'none';
  /** How many commands hold a shared slot. */
  #held = 0;
  /** Since when commands wait and no slot came or went. */
  #withoutSince: number | undefined;
  #isTold = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SharedJobsOptions) {
    this.#options = options;
  }

  /** Resolves to the slot, or to the reason why the step must not begin. */
  acquire(asked: JobAsked): Promise<HeldJob | string> {
    if (!this.#isOpened) this.#open();
    if (this.#isUnbounded) return Promise.resolve(WITHOUT);
    if (this.#own === 'free') return Promise.resolve(this.#takeOwn());
    this.#helper?.order('+');
    return new Promise((end) => {
      this.#waiting.push({ ...asked, since: this.#options.now(), isTold: false, end });
      this.#timer ??= setInterval(() => this.#look(), JOBS.lookMs);
    });
  }

  close(): void {
    clearInterval(this.#timer);
    this.#helper?.close();
  }

  #open(): void {
    this.#isOpened = true;
    const { storeFolder, jobs } = this.#options;
    const enclosing = slotsOfEnclosingRun();
    if (enclosing !== undefined) this.#own = 'free';
    const file = enclosing ?? join(clientFolder(storeFolder), SLOTS_FILE);
    this.#helper = Helper.start(file, jobs, {
      granted: () => this.#granted(),
      ended: () => this.#lost(),
    });
    if (!this.#helper) this.#lost();
  }

  /** J4. A run in a command goes on with the slot of that command. */
  #lost(): void {
    this.#helper = undefined;
    if (this.#own !== 'none') return;
    this.#isUnbounded = true;
    for (const waiter of this.#waiting.splice(0)) this.#end(waiter, WITHOUT);
  }

  /** A slot that no waiter wants any more was asked for by one that withdrew: the helper gives it back by itself. */
  #granted(): void {
    const waiter = this.#waiting.shift();
    if (!waiter) return;
    this.#held++;
    this.#withoutSince = undefined;
    this.#end(
      waiter,
      once(() => this.#giveBack()),
    );
  }

  #giveBack(): void {
    this.#held--;
    this.#withoutSince = undefined;
    this.#helper?.order('-');
  }

  #takeOwn(): HeldJob {
    this.#own = 'taken';
    this.#withoutSince = undefined;
    return once(() => {
      this.#own = 'free';
      this.#withoutSince = undefined;
      this.#grantOwn();
    });
  }

  #grantOwn(): void {
    const waiter = this.#own === 'free' ? this.#waiting.shift() : undefined;
    if (!waiter) return;
    this.#helper?.order('c');
    this.#end(waiter, this.#takeOwn());
  }

  #end(waiter: Waiter, outcome: HeldJob | string): void {
    if (this.#waiting.length === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      this.#withoutSince = undefined;
    }
    if (waiter.isTold) waiter.emit({ type: 'step-resumed', step: waiter.step });
    waiter.end(outcome);
  }

  #look(): void {
    const { jobs, now, patienceMs = JOBS.patienceMs } = this.#options;
    for (const waiter of [...this.#waiting]) {
      const refusal = waiter.refusal();
      if (refusal !== undefined) this.#refuse(waiter, refusal);
      else if (!waiter.isTold && now() - waiter.since >= JOBS.toldMs) {
        waiter.isTold = true;
        waiter.emit({ type: 'step-waiting', step: waiter.step });
      }
    }
    const [first] = this.#waiting;
    if (!first) return;
    this.#withoutSince ??= now();
    const waitedMs = now() - this.#withoutSince;
    const isWithout = this.#held === 0 && this.#own === 'none';
    if (isWithout && waitedMs >= JOBS.announcedMs && !this.#isTold) {
      this.#isTold = true;
      first.emit({ type: 'run-waiting', jobs });
    }
    const mostMs = isWithout ? patienceMs : patienceMs * JOBS.patienceOfHolder;
    if (waitedMs < mostMs) return;
    first.emit({ type: 'run-warning', text: outOfPatience(mostMs) });
    this.#own = 'free';
    this.#grantOwn();
  }

  #refuse(waiter: Waiter, refusal: string): void {
    this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
    this.#helper?.order('c');
    this.#end(waiter, refusal);
  }
}

function outOfPatience(patienceMs: number): string {
  const seconds = Math.round(patienceMs / 1000);
  return `other runs of this user held all job slots for ${seconds} s, so this run goes on with one command at a time besides (a larger --jobs has more slots)`;
}

/** Called for the first release only. */
function once(release: () => void): HeldJob {
  let isHeld = true;
  return {
    release() {
      if (isHeld) release();
      isHeld = false;
    },
  };
}

interface HelperEvents {
  granted(): void;
  /** Without a close: nothing can be locked here, or somebody killed the helper. */
  ended(): void;
}

class Helper {
  readonly #child: ChildProcess;
  readonly #file: number;
  #isClosed = false;

  private constructor(child: ChildProcess, file: number, { granted, ended }: HelperEvents) {
    this.#child = child;
    this.#file = file;
    child.stdout?.on('data', (bytes: Buffer) => {
      for (let count = 0; count < bytes.length; count++) granted();
    });
    const onEnd = () => {
      if (!this.#isClosed) ended();
      this.close();
    };
    child.once('error', onEnd);
    child.once('exit', onEnd);
    child.stdin?.on('error', () => {}); // its end is told by the event above
  }

  /** Undefined if it cannot work. */
  static start(path: string, jobs: number, events: HelperEvents): Helper | undefined {
    const program = helperPath();
    if (!existsSync(program)) return undefined;
    const file = openSlots(path);
    if (file === undefined) return undefined;
    const args = ['--slots', String(SLOTS_DESCRIPTOR), String(jobs)];
    try {
      const child = spawn(program, args, { cwd: '/', env: {}, stdio: ['pipe', 'pipe', 'ignore', file] });
      return new Helper(child, file, events);
    } catch {
      closeSync(file);
      return undefined;
    }
  }

  order(what: '+' | '-' | 'c'): void {
    this.#child.stdin?.write(what);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#child.stdin?.end();
    closeSync(this.#file);
  }
}

const SLOTS_DESCRIPTOR = 3;

/** Undefined if the file cannot be opened, or its locks would be those of other machines, too. */
function openSlots(path: string): number | undefined {
  try {
    const isOwn = !path.startsWith('/proc/');
    if (isOwn) makeClientFolder(dirname(path));
    if (isNetworkFileSystem(statfsSync(isOwn ? dirname(path) : path).type)) return undefined;
    const flags = constants.O_RDWR | (isOwn ? constants.O_CREAT | constants.O_NOFOLLOW : 0);
    return openSync(path, flags, PRIVATE_FILE.mode);
  } catch {
    return undefined;
  }
}

/** By the numbers of statfs(2): NFS, SMB, CIFS, Ceph, Lustre, GPFS, AFS, GFS2 and OCFS2. */
export function isNetworkFileSystem(type: number): boolean {
  return NETWORK.has(type >>> 0);
}

const NETWORK: ReadonlySet<number> = new Set([
  0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x00c36400, 0x0bd00bd0, 0x47504653, 0x5346414f, 0x01161970,
  0x7461636f,
]);
