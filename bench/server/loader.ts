// The parent’s side of a load process.
import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import type { Job, JobDone } from './job.ts';
import { stop } from './process.ts';

const JOB_MS = 90_000;

/** For a script that takes jobs as messages and replies to each when it is done. */
export class Loader<J extends { readonly origin: string } = Job, D = JobDone> {
  readonly #child: ChildProcess;

  constructor(script = join(import.meta.dirname, 'load.ts')) {
    this.#child = fork(script);
  }

  run(job: J): Promise<D> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#child.kill('SIGKILL'), JOB_MS);
      const onExit = () =>
        reject(new Error(`the load against ${job.origin} failed or took over ${JOB_MS / 1000} s`));
      this.#child.once('exit', onExit);
      this.#child.once('message', (done: D) => {
        clearTimeout(timer);
        this.#child.off('exit', onExit);
        resolve(done);
      });
      this.#child.send(job);
    });
  }

  stop(): Promise<void> {
    return stop(this.#child);
  }
}
