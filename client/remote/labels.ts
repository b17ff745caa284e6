// The labels of a remote: names of results that are found by their beginning. They are Assay's own, beside what the
// protocols of a remote have; a server of another kind has none, which is a miss, not a fault.
import type { Dispatcher } from 'undici';
import { isHash } from '../../core/digest.ts';
import { messageOf } from '../../core/errors.ts';
import { LABELS_PATH } from '../../core/labels.ts';
import { REMOTE } from '../../core/limits.ts';
import type { Labelled } from '../../store/store.ts';
import { authorization } from './authorization.ts';
import type { RemoteOptions } from './open.ts';
import { Patience } from './patience.ts';
import { RemoteFault } from './remote.ts';

export class RemoteLabels {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  readonly #patience: Patience;

  /** A remote that speaks gRPC speaks HTTP on the same port, if it is an Assay. */
  constructor({ url, token, now }: RemoteOptions) {
    const protocol = url.protocol.replace(/^grpc/, 'http');
    this.#url = `${protocol}//${url.host}${LABELS_PATH}${url.pathname.replace(/^\/+|\/+$/g, '')}`;
    this.#headers = authorization(url, token);
    this.#patience = new Patience(now);
  }

  /** The label `exact`, else the newest that begins with the first of the prefixes, else with the second … */
  async newest(prefixes: readonly string[], exact?: string): Promise<Labelled | undefined> {
    const query = new URLSearchParams(prefixes.map((prefix) => ['prefix', prefix]));
    if (exact !== undefined) query.set('exact', exact);
    const { status, body } = await this.#ask('GET', query);
    if (status !== 200) return undefined;
    const { label, key } = parse(body);
    if (typeof label !== 'string' || typeof key !== 'string' || !isHash(key)) {
      throw new RemoteFault('it answered with something that is no label');
    }
    return { label, key };
  }

  /** False where the label names something else already, or the remote knows no labels. */
  async put({ label, key }: Labelled): Promise<boolean> {
    const { status } = await this.#ask('PUT', new URLSearchParams({ label, key }));
    return status === 200;
  }

  async #ask(method: 'GET' | 'PUT', query: URLSearchParams): Promise<{ status: number; body: string }> {
    try {
      return await this.#patience.during(async () => {
        const { request, Agent } = await import('undici');
        const dispatcher: Dispatcher = new Agent({ connectTimeout: REMOTE.patienceMs });
        const { signal } = this.#patience;
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
    } catch (cause) {
      throw new RemoteFault(messageOf(cause), { cause });
    }
  }
}

function parse(body: string): { label?: unknown; key?: unknown } {
  try {
    return JSON.parse(body) ?? {};
  } catch {
    return {};
  }
}
