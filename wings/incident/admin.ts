// Asks an Assay server for what a person needs after an incident: forget and divergences.
// Nothing is a miss here: every fault is an error that a person sees.
import type { Dispatcher } from 'undici';
import { authorization } from '../../client/remote/authorization.ts';
import { parseRemoteUrl, serverAddress } from '../../client/remote/url.ts';
import { AssayError, ERRORS, type ErrorCode, messageOf } from '../../core/errors.ts';
import type { ListedDivergence } from '../../store/review/divergences.ts';
import type { ForgetProgress, ForgetReport } from '../../store/review/forget.ts';
import { type Selection, selectionTexts } from '../../store/review/selection.ts';

interface RemoteForget {
  readonly selection: Selection;
  readonly remove: boolean;
  readonly listed: number;
  readonly onProgress: (progress: ForgetProgress) => void;
}

export class RemoteAdmin {
  readonly #base: string;
  readonly #headers: Record<string, string>;

  /** A path in the URL is refused: a person might think that it narrows what is forgotten. */
  constructor(text: string, token: string | undefined) {
    const url = parseRemoteUrl(text);
    if (url.pathname !== '/' && url.pathname !== '')
      throw new AssayError(
        'ASSAY_USAGE',
        `give the server without ${url.pathname}; --namespace names a namespace`,
      );
    this.#base = serverAddress(url);
    this.#headers = authorization(url, token);
  }

  async forget({ selection, remove, listed, onProgress }: RemoteForget): Promise<ForgetReport> {
    const body = JSON.stringify({ ...selectionTexts(selection), remove, listed });
    return this.#ask('POST', '/admin/forget', body, async (answer) => {
      for await (const line of linesOf(answer)) {
        const { progress, report, error } = parse<ForgetLine>(line);
        if (error) throw new AssayError(codeOf(error.code), String(error.detail));
        if (progress) onProgress(progress);
        if (report) return report;
      }
      throw noAnswer('the answer ended before the report');
    });
  }

  divergences(namespace: string | undefined): Promise<{ divergences: ListedDivergence[]; more: boolean }> {
    const query = namespace === undefined ? '' : `?${new URLSearchParams({ namespace })}`;
    return this.#ask('GET', `/admin/divergences${query}`, undefined, async (answer) =>
      parse(await answer.body.text()),
    );
  }

  async #ask<T>(
    method: 'GET' | 'POST',
    path: string,
    body: string | undefined,
    read: (answer: Dispatcher.ResponseData) => Promise<T>,
  ): Promise<T> {
    const { request, Agent } = await import('undici');
    const dispatcher: Dispatcher = new Agent();
    try {
      const headers = { ...this.#headers, ...(body !== undefined && { 'content-type': 'application/json' }) };
      const answer = await request(`${this.#base}${path}`, {
        method,
        headers,
        body: body ?? null,
        dispatcher,
      });
      if (answer.statusCode === 200) return await read(answer);
      const { code, message } = parse<{ code?: unknown; message?: unknown }>(await answer.body.text());
      throw new AssayError(codeOf(code), `${this.#base}: ${String(message)}`);
    } catch (error) {
      throw error instanceof AssayError ? error : noAnswer(`${this.#base}: ${messageOf(error)}`);
    } finally {
      await dispatcher.destroy();
    }
  }
}

interface ForgetLine {
  readonly progress?: ForgetProgress;
  readonly report?: ForgetReport;
  readonly error?: { readonly code?: unknown; readonly detail?: unknown };
}

async function* linesOf({ body }: Dispatcher.ResponseData): AsyncGenerator<string> {
  let rest = '';
  body.setEncoding('utf8');
  for await (const piece of body) {
    const lines = `${rest}${piece}`.split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}

function parse<T extends object>(text: string): T {
  try {
    return JSON.parse(text);
  } catch {
    throw noAnswer('the answer is not JSON');
  }
}

function codeOf(code: unknown): ErrorCode {
  const known = Object.keys(ERRORS).find((name): name is ErrorCode => name === code);
  return known ?? 'ASSAY_NO_ANSWER';
}

function noAnswer(detail: string): AssayError {
  return new AssayError('ASSAY_NO_ANSWER', detail);
}
