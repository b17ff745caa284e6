// The leases of a server, over HTTP: each method is one POST of JSON, a wait is one open request.
// Every answer that can't be read counts as no lease: that of an older server, of a full one, without the right, or none
// in time. After most of them this run asks for no more leases, so that they cost one bounded time. A server that has
// answered before is busy, or starts again: it gets more time, because a run without an answer executes what another run
// executes.
import { setTimeout as pause } from 'node:timers/promises';
import type { Agent } from 'undici';
import { authorization } from '../../../client/remote/authorization.ts';
import { serverAddress } from '../../../client/remote/url.ts';
import { ACTION_LEASES_PATH, type Fence, fenceText, LONGEST_POLL_MS } from '../../../core/action-lease.ts';
import type { Hash } from '../../../core/digest.ts';
import { RUNNER } from './limits.ts';
import { Patience } from './patience.ts';
import type { Ended, Granted, HeldByOther, LeasePlace, NoLease, PublishedElsewhere } from './place.ts';
import { endedIn, heldIn, type LeaseReply, repliedFence, repliedNumber, replyIn } from './reply.ts';
import { ServerGrant } from './server-grant.ts';

export interface ServerLeasesOptions {
  readonly url: URL;
  readonly token: string | undefined;
  /** How this run is named to those who wait for it. */
  readonly holder: string;
  readonly times?: ServerTimes;
}

/** How long a run waits for a server that does not answer. RUNNER says what each of them is. */
export type ServerTimes = Readonly<Record<'answerMs' | 'busyMs' | 'againMs', number>>;

export interface LeasedStep {
  readonly key: Hash;
  /** Its id, by which the server finds its history. */
  readonly step: string;
  readonly knownMs: number | undefined;
}

type Method = 'acquire' | 'wait' | 'heartbeat' | 'release';

const NOTHING: NoLease = { outcome: 'none' };

/** A server, or a proxy before it, that may answer later. */
const LATER: ReadonlySet<number> = new Set([429, 500, 502, 503, 504]);

export class ServerLeases {
  readonly #base: string;
  readonly #namespace: string;
  readonly #headers: Record<string, string>;
  readonly #holder: string;
  readonly #times: ServerTimes;
  #agent: Agent | undefined;
  /** The server is asked for no more leases. */
  #isGone = false;
  #hasAnswered = false;
  /** When the last response came, whatever it said. */
  #heardAt = Number.NEGATIVE_INFINITY;
  /** When an answer was due first, if none that can be read came since. */
  #unansweredSince: number | undefined;

  constructor({ url, token, holder, times = RUNNER }: ServerLeasesOptions) {
    this.#base = `${serverAddress(url)}${ACTION_LEASES_PATH}`;
    this.#namespace = url.pathname.replace(/^\/+|\/+$/g, '');
    this.#headers = { ...authorization(url, token), 'content-type': 'application/json' };
    this.#holder = holder;
    this.#times = times;
  }

  of(step: LeasedStep, onLost: () => void): LeasePlace {
    return {
      acquire: (after, mostMs) => this.#acquire(step, after, mostMs, onLost),
      wait: (held, leftMs) => this.#wait(step, held, leftMs),
    };
  }

  async close(): Promise<void> {
    this.#isGone = true;
    await this.#agent?.destroy();
  }

  async #acquire(
    { key, step, knownMs }: LeasedStep,
    after: Fence | undefined,
    mostMs: number,
    onLost: () => void,
  ): Promise<Granted | HeldByOther | Ended | NoLease> {
    const id = Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString('hex');
    const about = { key, id, holder: this.#holder, step };
    const expected = knownMs === undefined ? {} : { expectedMs: Math.round(knownMs) };
    const asked = { ...about, ...expected, ...(after && { after: fenceText(after) }) };
    const answer = await this.#askInTime(asked, knownMs, mostMs);
    const fence = repliedFence(answer);
    if (answer?.outcome === 'granted' && fence) {
      const ask = (method: 'heartbeat' | 'release', body: object) =>
        this.#askAboutGrant(method, { key, id, ...body });
      const grant = new ServerGrant(ask, fence, repliedNumber(answer.heartbeatMs) ?? 0, onLost);
      return { outcome: 'granted', grant };
    }
    return heldIn(answer) ?? endedIn(answer) ?? NOTHING;
  }

  async #wait(
    { key, knownMs }: LeasedStep,
    held: HeldByOther,
    leftMs: number,
  ): Promise<HeldByOther | Ended | PublishedElsewhere | NoLease> {
    const { fence } = held;
    const until = performance.now() + leftMs;
    const { answerMs } = this.#times;
    while (!this.#isGone) {
      const ownMs = until - performance.now();
      if (ownMs <= 0) return held;
      const waitMs = Math.min(Math.ceil(ownMs), LONGEST_POLL_MS);
      const asked = { key, waitMs, ...(fence && { fence: fenceText(fence) }) };
      const mostMs = Math.min(waitMs + answerMs, ownMs + RUNNER.lateMs);
      const answer = await this.#ask('wait', asked, AbortSignal.timeout(Math.ceil(mostMs)), waitMs);
      if (answer?.outcome === 'published') return { outcome: 'published' };
      const found = heldIn(answer) ?? endedIn(answer);
      if (found) return found;
      const laterMs = this.#askAgainMs(answer, knownMs);
      if (laterMs === undefined) break;
      await pause(Math.max(0, Math.min(laterMs, until - performance.now())));
    }
    return NOTHING;
  }

  /** When to ask again after an answer that says nothing of the lease. Undefined if the run asks no more. */
  #askAgainMs(answer: LeaseReply | undefined, knownMs: number | undefined): number | undefined {
    // A full server, or one that stops: it, or another one of its fleet, knows more later.
    if (answer) return unevenly(repliedNumber(answer.retryMs), this.#times.againMs);
    return this.#mayAnswerYet(this.#patienceMs(knownMs)) ? this.#pauseMs() : undefined;
  }

  /** Another server of a fleet is asked soon, and one that is busy ever less often. */
  #pauseMs(): number {
    const { againMs } = this.#times;
    const waitedMs = performance.now() - (this.#unansweredSince ?? performance.now());
    return againMs * Math.random() + Math.min(waitedMs, RUNNER.maxAgainMs) * Math.random();
  }

  /** Asks a server that has answered before again for a while. One that is silent for so long is asked no more. */
  async #askInTime(
    body: object,
    knownMs: number | undefined,
    mostMs: number,
  ): Promise<LeaseReply | undefined> {
    const { againMs } = this.#times;
    const began = performance.now();
    const patienceMs = this.#patienceMs(knownMs);
    const patience = new Patience(
      patienceMs,
      Math.max(againMs, Math.min(mostMs, patienceMs + RUNNER.starvedMs)),
    );
    try {
      while (!this.#isGone) {
        const answer = await this.#ask('acquire', body, patience.signal);
        if (answer) return answer;
        if (!this.#mayAnswerYet(patienceMs) || patience.signal.aborted) break;
        await pause(this.#pauseMs(), undefined, { signal: patience.signal }).catch(() => {});
      }
    } finally {
      patience.close();
    }
    this.#isGone ||= this.#heardAt < began && (patience.isOver || !this.#hasAnswered);
    return undefined;
  }

  /** How long a run waits for an answer about an action of this duration. */
  #patienceMs(knownMs = 0): number {
    const { answerMs, busyMs } = this.#times;
    const share = Math.min(knownMs * RUNNER.patienceShare, RUNNER.maxPatienceMs);
    return Math.max(share, this.#hasAnswered ? busyMs : answerMs);
  }

  #mayAnswerYet(patienceMs: number): boolean {
    if (this.#isGone || !this.#hasAnswered) return false;
    return this.#unansweredSince === undefined || performance.now() - this.#unansweredSince < patienceMs;
  }

  async #askAboutGrant(method: 'heartbeat' | 'release', body: object): Promise<LeaseReply | undefined> {
    const { answerMs } = this.#times;
    const patience = new Patience(answerMs, answerMs + RUNNER.starvedMs);
    return this.#ask(method, body, patience.signal).finally(() => patience.close());
  }

  /** Undefined if there is no answer that can be read. */
  async #ask(method: Method, body: object, signal: AbortSignal, dueMs = 0): Promise<LeaseReply | undefined> {
    const asked = performance.now();
    const due = asked + dueMs;
    try {
      const { request, Agent } = await import('undici');
      this.#agent ??= new Agent({ connectTimeout: 0, maxResponseSize: MOST_BYTES });
      const response = await request(`${this.#base}${method}`, {
        method: 'POST',
        headers: this.#headers,
        body: JSON.stringify({ namespace: this.#namespace, ...body }),
        dispatcher: this.#agent,
        signal,
        headersTimeout: 0,
      });
      const text = await response.body.text();
      this.#heardAt = performance.now();
      const answer = response.statusCode === 200 ? replyIn(text) : undefined;
      if (answer) this.#unansweredSince = undefined;
      else this.#unansweredSince ??= this.#heardAt;
      this.#hasAnswered ||= answer !== undefined;
      this.#isGone ||= !answer && !LATER.has(response.statusCode);
      return answer;
    } catch {
      // The server had accepted a wait that was cut after so long.
      const wasOpen = method === 'wait' && performance.now() - asked > this.#times.answerMs;
      if (wasOpen && !signal.aborted) this.#unansweredSince = undefined;
      this.#unansweredSince ??= Math.min(due, performance.now());
      return undefined;
    }
  }
}

/** Waits that were refused together do not come back together. */
function unevenly(retryMs: number | undefined, leastMs: number): number | undefined {
  return retryMs && Math.max(leastMs, Math.min(retryMs, LONGEST_POLL_MS)) * (0.5 + Math.random());
}

const MOST_BYTES = 64 * 1024;
