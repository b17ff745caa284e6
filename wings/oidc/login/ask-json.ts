// One HTTP request with a JSON answer. Time and size are bounded, and no redirect is followed: it would carry
// the token to another place. A fault is tried again a few times.
import { setTimeout as pause } from 'node:timers/promises';
import { AssayError, messageOf } from '../../../core/errors.ts';
import { LOGIN } from '../limits.ts';

interface JsonAnswer {
  readonly status: number;
  /** Undefined if the body is no JSON. */
  readonly value: unknown;
}

interface Init {
  readonly method?: 'GET' | 'POST';
  readonly headers: Record<string, string>;
  readonly body?: string;
}

/** Throws ASSAY_LOGIN if there is no answer. The answer may have any status below 500. */
export async function askJson(url: URL, init: Init): Promise<JsonAnswer> {
  for (let attempt = 1; ; attempt++) {
    const { answer, fault } = await tryOnce(url, init);
    if (answer && answer.status < 500) return answer;
    if (attempt >= LOGIN.attempts) {
      if (answer) return answer;
      throw new AssayError('ASSAY_LOGIN', `${url.origin} gave no answer: ${fault}`);
    }
    await pause(attempt * LOGIN.pauseMs);
  }
}

async function tryOnce(url: URL, init: Init): Promise<{ answer?: JsonAnswer; fault?: string }> {
  const { Agent, request } = await import('undici');
  const agent = new Agent({ maxResponseSize: LOGIN.maxAnswerBytes, connectTimeout: LOGIN.timeoutMs });
  try {
    const { statusCode, body } = await request(url, {
      method: 'GET',
      ...init,
      dispatcher: agent,
      signal: AbortSignal.timeout(LOGIN.timeoutMs),
    });
    return { answer: { status: statusCode, value: parsed(await body.text()) } };
  } catch (error) {
    return { fault: messageOf(error) };
  } finally {
    await agent.destroy();
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
