// The leases that a run holds for one action while its command runs: here, and at the server.
// Guarantee: each of them is released once, with the reason, as soon as that is known. A signal to Assay releases them at
// once. The end of the run releases the others.
import type { LeaseInHand, LeaseUse } from '../../../client/lease/action-lease.ts';
import { onStop } from '../../../client/process/launch.ts';
import type { Cache } from '../../../client/run/caches.ts';
import type { Execution } from '../../../client/run/execute.ts';
import type { Hit } from '../../../client/run/hit.ts';
import type { UploadEnd } from '../../../client/run/uploads.ts';
import type { Fence, ReleaseReason } from '../../../core/action-lease.ts';
import type { Hash } from '../../../core/digest.ts';
import type { HeldLease } from './place.ts';

export interface InHandOptions {
  readonly use: LeaseUse;
  readonly hit?: Hit | undefined;
  readonly local?: HeldLease | undefined;
  readonly server?: HeldLease | undefined;
  readonly cache: Pick<Cache, 'openUploads'>;
  readonly signal?: AbortSignal | undefined;
  /** Awaited before the process ends. */
  track(release: Promise<void>): void;
}

export class InHand implements LeaseInHand<Hit> {
  readonly use: LeaseUse;
  readonly hit: Hit | undefined;
  readonly #options: InHandOptions;
  readonly #forgetSignals: () => void;
  #isStopped = false;
  /** The server's lease goes on while the result is on its way. */
  #isSending = false;

  constructor(options: InHandOptions) {
    this.use = options.use;
    this.hit = options.hit;
    this.#options = options;
    const holds = options.local !== undefined || options.server !== undefined;
    this.#forgetSignals = holds ? onStop(options.signal, (signal) => this.#stop(signal)) : () => {};
  }

  fence(): Fence | 'lost' | undefined {
    const { server } = this.#options;
    return server?.isLost ? 'lost' : server?.fence;
  }

  ended({ exitCode, signal }: Execution, isFailure: boolean): void {
    if (!isFailure) return;
    const detail = signal === undefined ? `exit code ${exitCode}` : `ended by ${signal}`;
    this.#release(this.#isStopped ? 'cancelled' : 'failed', detail);
  }

  stored(published: boolean, sent: Hash | undefined): void {
    const { local, server, cache, track } = this.#options;
    this.#forgetSignals();
    if (local) track(local.release(published ? 'done' : 'unkept'));
    if (!server) return;
    this.#isSending = sent !== undefined;
    const arrived = sent ? cache.openUploads().then((uploads) => uploads?.settled(sent)) : undefined;
    track(Promise.resolve(arrived).then((end = 'refused') => server.release(REASONS[end], UNSENT[end])));
  }

  abandon(): void {
    if (!this.#isSending) this.#release('cancelled');
  }

  /** At the end of a run: what is still on its way is not waited for. */
  close(): void {
    this.#release('cancelled', UNSENT.away);
  }

  #release(reason: ReleaseReason, detail?: string): void {
    const { local, server, track } = this.#options;
    this.#forgetSignals();
    if (local) track(local.release(reason, detail));
    if (server) track(server.release(reason, detail));
  }

  /** While no command runs, nobody else may listen: then the signal ends this process as if nobody did. */
  #stop(signal: NodeJS.Signals): void {
    this.#isStopped = true;
    this.#release('cancelled', signal);
    if (process.listenerCount(signal) === 0) setTimeout(() => process.kill(process.pid, signal), STOP_MS);
  }
}

/** A result that could not be sent is no sign that others of the action are not kept: one of those that wait runs next. */
const REASONS: Readonly<Record<UploadEnd, ReleaseReason>> = {
  there: 'done',
  refused: 'unkept',
  away: 'cancelled',
};
const UNSENT: Readonly<Partial<Record<UploadEnd, string>>> = { away: 'its result could not be sent in time' };

/** The server has got the release by then, or never gets it. */
const STOP_MS = 100;
