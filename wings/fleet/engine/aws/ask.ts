// One question to a source of credentials over HTTP: bounded in time and size, and never redirected.
// No error holds a header, a body or a query: they are secrets.
import { AWS } from './limits.ts';

interface Question {
  readonly url: URL;
  readonly method?: 'GET' | 'PUT' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly answerMs?: number;
}

export interface CredentialAnswer {
  readonly status: number;
  readonly text: string;
  /** By the clock of the source, in milliseconds since 1970. */
  readonly time: number;
}

export async function ask({
  url,
  method = 'GET',
  headers = {},
  body,
  answerMs = AWS.answerMs,
}: Question): Promise<CredentialAnswer> {
  const { request } = await import('undici');
  const signal = AbortSignal.timeout(answerMs);
  try {
    const answer = await request(url, { method, headers, body: body ?? null, signal });
    const time = Date.parse(String(answer.headers.date ?? ''));
    const text = await textOf(answer.body);
    return { status: answer.statusCode, text, time: Number.isNaN(time) ? Date.now() : time };
  } catch (error) {
    throw new Error(
      `${url.host} ${signal.aborted ? `gave no answer within ${answerMs / 1000} s` : codeOf(error)}`,
    );
  }
}

async function textOf(body: AsyncIterable<Buffer>): Promise<string> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of body) {
    size += piece.length;
    if (size > AWS.maxAnswerBytes) throw new Error('its answer is too long');
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}

function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  if (error instanceof Error && 'code' in error && typeof error.code === 'string')
    return `can’t be reached: ${error.code}`;
  return error instanceof Error ? error.message : 'can’t be reached';
}
