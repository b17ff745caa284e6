// The leases of a server, over HTTP: each method is one POST of JSON, a wait is one open request.
// Every answer that is none counts as no lease: an older server, a full one, no right, no time. After most of them this
// run asks the server no more, so that they cost one bounded time. A server that has answered before is busy, or starts
// again: it gets more time, because whoever has no answer executes what another run executes.
//
// A lease is kept by heartbeats. A run that hears nothing goes on: only the server can say that the lease is lost.
import type { Agent } from 'undici';
import { authorization } from '../../../client/remote/authorization.ts';
import { serverAddress } from '../../../client/remote/url.ts';
import {
  ACTION_LEASE_MARK,
  ACTION_LEASES_PATH,
  END_REASONS,
  type EndReason,
  type Fence,
  fenceText,
  parseFence,
  type ReleaseReason,
} from '../../../core/action-lease.ts';
import type { Hash } from '../../../core/digest.ts';
import { RUNNER } from './limits.ts';
import type {
  Ended,
  Granted,
  HeldByOther,
  HeldLease,
  LeasePlace,
  NoLease,
  PublishedElsewhere,
} from './place.ts';

export interface ServerLeasesOptions {
  readonly url: URL;
  readonly token: string | undefined;
  /** How this run is named to those who wait for it. */
  readonly holder: string;
}

export interface LeasedStep {
  readonly key: Hash;
  /** Its id, by which the server finds its history. */
  readonly step: string;
  readonly knownMs: number | undefined;
}

/** What is read of an answer. Another server, or an attacker, may send anything. */
interface Answer {
  readonly mark?: unknown;
  readonly outcome?: unknown;
  readonly fence?: unknown;
  readonly holder?: unknown;
  readonly leftMs?: unknown;
  readonly reason?: unknown;
  readonly detail?: unknown;
  readonly heartbeatMs?: unknown;
}

const NOTHING: NoLease = { outcome: 'none' };
const UNAVAILABLE = 503;

export class ServerLeases {
  readonly #base: string;
  readonly #namespace: string;
  readonly #headers: Record<string, string>;
  readonly #holder: string;
  #agent: Agent | undefined;
  #isGone = false;
  #hasAnswered = false;
  /** When a question was given up first, if none had an answer since. */
  #silentSince: number | undefined;

  constructor({ url, token, holder }: ServerLeasesOptions) {
    this.#base = `${serverAddress(url)}${ACTION_LEASES_PATH}`;
    this.#namespace = url.pathname.replace(/^\/+|\/+$/g, '');
    this.#headers = { ...authorization(url, token), 'content-type': 'application/json' };
    this.#holder = holder;
  }

  of(step: LeasedStep, onLost: () => void): LeasePlace {
    return {
      acquire: (after) => this.#acquire(step, after, onLost),
      wait: (held, waitMs) => this.#wait(step, held, waitMs),
    };
  }

  async close(): Promise<void> {
    await this.#agent?.destroy();
  }

  async #acquire(
    { key, step, knownMs }: LeasedStep,
    after: Fence | undefined,
    onLost: () => void,
  ): Promise<Granted | HeldByOther | Ended | NoLease> {
    const id = Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString('hex');
    const answer = await this.#askInTime('acquire', {
      key,
      id,
      holder: this.#holder,
      step,
      ...(knownMs !== undefined && { expectedMs: Math.round(knownMs) }),
      ...(after && { after: fenceText(after) }),
    });
    const fence = fenceIn(answer);
    if (answer?.outcome === 'granted' && fence) {
      const grant = new ServerGrant((method, body) => this.#ask(method, { key, id, ...body }), fence, onLost);
      grant.begin(numberIn(answer.heartbeatMs) ?? 0);
      return { outcome: 'granted', grant };
    }
    return (answer?.outcome === 'held' && heldIn(answer)) || endedIn(answer) || NOTHING;
  }

  async #wait(
    { key }: LeasedStep,
    held: HeldByOther,
    waitMs: number,
  ): Promise<HeldByOther | Ended | PublishedElsewhere | NoLease> {
    const { fence } = held;
    const asked = { key, waitMs: Math.ceil(waitMs), ...(fence && { fence: fenceText(fence) }) };
    const answer = await this.#ask('wait', asked, Math.ceil(waitMs) + RUNNER.answerMs);
    if (!answer && this.#mayAnswerYet) {
      await pause(Math.min(RUNNER.againMs, waitMs));
      return held;
    }
    if (answer?.outcome === 'published') return { outcome: 'published' };
    return (answer?.outcome === 'held' && heldIn(answer)) || endedIn(answer) || NOTHING;
  }

  /** Asks a server that has answered before again for a while. Then, and if it never answered, it is asked no more. */
  async #askInTime(method: string, body: object): Promise<Answer | undefined> {
    const until = Date.now() + (this.#hasAnswered ? RUNNER.busyMs : RUNNER.answerMs);
    for (;;) {
      const answer = await this.#ask(method, body, Math.max(until - Date.now(), RUNNER.againMs));
      if (answer || this.#isGone) return answer;
      if (!this.#hasAnswered || Date.now() + RUNNER.againMs >= until) break;
      await pause(RUNNER.againMs);
    }
    this.#isGone = this.#silentSince !== undefined;
    return undefined;
  }

  get #mayAnswerYet(): boolean {
    if (this.#isGone || !this.#hasAnswered) return false;
    return this.#silentSince === undefined || Date.now() - this.#silentSince < RUNNER.busyMs;
  }

  /** Undefined if there is no answer that can be read. */
  async #ask(method: string, body: object, timeoutMs: number = RUNNER.answerMs): Promise<Answer | undefined> {
    if (this.#isGone) return undefined;
    try {
      const { request, Agent } = await import('undici');
      this.#agent ??= new Agent({ connectTimeout: RUNNER.answerMs, maxResponseSize: MOST_BYTES });
      const response = await request(`${this.#base}${method}`, {
        method: 'POST',
        headers: this.#headers,
        body: JSON.stringify({ namespace: this.#namespace, ...body }),
        dispatcher: this.#agent,
        signal: AbortSignal.timeout(timeoutMs),
        headersTimeout: timeoutMs,
      });
      const text = await response.body.text();
      const answer = response.statusCode === 200 ? parse(text) : undefined;
      this.#silentSince = undefined;
      if (answer?.mark === ACTION_LEASE_MARK) {
        this.#hasAnswered = true;
        return answer;
      }
      this.#isGone = response.statusCode !== UNAVAILABLE;
    } catch {
      this.#silentSince ??= Date.now();
    }
    return undefined;
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

const MOST_BYTES = 64 * 1024;

function parse(text: string): Answer | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function fenceIn(answer: Answer | undefined): Fence | undefined {
  return typeof answer?.fence === 'string' ? parseFence(answer.fence) : undefined;
}

function numberIn(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 ? value : undefined;
}

/** What a terminal may show. */
function textIn(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= 200 ? value : undefined;
}

function heldIn(answer: Answer): HeldByOther {
  const { holder, leftMs } = answer;
  return { outcome: 'held', holder: textIn(holder), leftMs: numberIn(leftMs), fence: fenceIn(answer) };
}

function endedIn(answer: Answer | undefined): Ended | undefined {
  const reason = END_REASONS.find((one): one is EndReason => one === answer?.reason);
  if (answer?.outcome !== 'ended' || !reason) return undefined;
  return { outcome: 'ended', reason, detail: textIn(answer.detail), fence: fenceIn(answer) };
}

type Ask = (method: 'heartbeat' | 'release', body: object) => Promise<Answer | undefined>;

/** Beats until it is released or lost. */
class ServerGrant implements HeldLease {
  readonly fence: Fence;
  readonly #ask: Ask;
  readonly #onLost: () => void;
  #timer: NodeJS.Timeout | undefined;
  #lost: string | undefined;
  #isOver = false;

  constructor(ask: Ask, fence: Fence, onLost: () => void) {
    this.#ask = ask;
    this.fence = fence;
    this.#onLost = onLost;
  }

  begin(heartbeatMs: number): void {
    this.#timer = setInterval(() => void this.#beat(), Math.max(heartbeatMs, RUNNER.leastBeatMs));
    this.#timer.unref();
  }

  lost(): string | undefined {
    return this.#lost;
  }

  async release(reason: ReleaseReason, detail?: string): Promise<void> {
    if (this.#isOver) return;
    this.#end();
    await this.#ask('release', {
      fence: fenceText(this.fence),
      reason,
      ...(detail !== undefined && { detail }),
    });
  }

  async #beat(): Promise<void> {
    const answer = await this.#ask('heartbeat', { fence: fenceText(this.fence) });
    if (this.#isOver || answer?.outcome !== 'lost') return;
    this.#end();
    this.#lost = 'another run has the lease of this action since this one was not heard of';
    this.#onLost();
  }

  #end(): void {
    this.#isOver = true;
    clearInterval(this.#timer);
  }
}
