// The labels of a remote: names of results, found by prefix. Labels are Assay's own protocol. A server
// without them, or one that does not even speak HTTP, gives a miss and not a fault.
import type { Dispatcher } from 'undici';
import { type Fence, fenceText } from '../../core/action-lease.ts';
import { type Hash, isHash } from '../../core/digest.ts';
import { ERRORS } from '../../core/errors.ts';
import { LABELS_PATH } from '../../core/labels.ts';
import type { Labelled } from '../../store/store.ts';
import { REMOTE } from '../limits.ts';
import { authorization } from './authorization.ts';
import type { RemoteOptions } from './remote.ts';
import { serverAddress } from './url.ts';
import { WaitBudget } from './wait-budget.ts';

/** The lease that a label is written under. */
export interface FencedBy {
  /** The key of the action. */
  readonly action: Hash;
  readonly fence: Fence;
}

export class RemoteLabels {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  readonly #budget: WaitBudget;

  constructor({ url, token, now }: RemoteOptions) {
    this.#url = `${serverAddress(url)}${LABELS_PATH}${url.pathname.replace(/^\/+|\/+$/g, '')}`;
    this.#headers = authorization(url, token);
    this.#budget = new WaitBudget(now);
  }

  /** The newest label with the first prefix that has one. */
  async newest(prefixes: readonly string[]): Promise<Labelled | undefined> {
    const answer = await this.#ask('GET', new URLSearchParams(prefixes.map((prefix) => ['prefix', prefix])));
    const { label, key } = answer?.status === 200 ? parse(answer.body) : {};
    if (typeof label !== 'string' || typeof key !== 'string' || !isHash(key)) return undefined;
    return prefixes.some((prefix) => label.startsWith(prefix)) ? { label, key } : undefined;
  }

  /** All labels with this prefix, newest first. Of a remote that lists none, the newest one. */
  async all(prefix: string): Promise<readonly string[]> {
    const query = new URLSearchParams({ all: prefix });
    const answer = await this.#ask('GET', query, REMOTE.maxLabelListBytes);
    const { labels } = answer?.status === 200 ? parse(answer.body) : {};
    if (!Array.isArray(labels)) return [(await this.newest([prefix]))?.label ?? []].flat();
    const names: unknown[] = labels.map((one) => one?.label);
    return names.filter((name) => typeof name === 'string').filter((name) => name.startsWith(prefix));
  }

  /**
   * `unknown`: the remote has no labels. `stale`: the fence is not that of the action's newest lease. `leased`: the write
   * has no fence, and another run holds the lease.
   */
  async put(
    { label, key }: Labelled,
    fenced?: FencedBy,
  ): Promise<'stored' | 'taken' | 'stale' | 'leased' | 'unknown'> {
    const fence = fenced && { action: fenced.action, fence: fenceText(fenced.fence) };
    const answer = await this.#ask('PUT', new URLSearchParams({ label, key, ...fence }));
    if (answer?.status === 200) return 'stored';
    if (answer?.status !== TAKEN) return 'unknown';
    const { code } = parse(answer.body);
    if (code === 'ASSAY_STALE_FENCE') return 'stale';
    return code === 'ASSAY_LABEL_LEASED' ? 'leased' : 'taken';
  }

  async #ask(
    method: 'GET' | 'PUT',
    query: URLSearchParams,
    maxBytes: number = REMOTE.maxLabelBytes,
  ): Promise<Answer | undefined> {
    try {
      return await this.#budget.ask(async () => {
        const { request, Agent } = await import('undici');
        const dispatcher: Dispatcher = new Agent({
          connectTimeout: REMOTE.connectMs,
          maxResponseSize: maxBytes,
        });
        const { signal } = this.#budget;
        try {
          const response = await request(`${this.#url}?${query}`, {
            method,
            headers: this.#headers,
            signal,
            dispatcher,
          });
          return { status: response.statusCode, body: await response.body.text() };
        } finally {
          await dispatcher.destroy();
        }
      });
    } catch {
      return undefined;
    }
  }
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

const TAKEN = ERRORS.ASSAY_LABEL_TAKEN.status;

function parse(body: string): { label?: unknown; key?: unknown; labels?: unknown; code?: unknown } {
  try {
    return JSON.parse(body) ?? {};
  } catch {
    return {};
  }
}
