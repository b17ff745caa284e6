// Fetches a JSON document of an issuer: its discovery document, or its keys.
// Guarantees: only over https, or on loopback; no redirect is followed; time and size are bounded.
import { messageOf } from '../../../core/errors.ts';
import { isLoopback } from '../../../store/shared/loopback.ts';
import { OIDC } from '../limits.ts';

export type FetchJson = (url: string) => Promise<unknown>;

/** http is readable and changeable on the way, so it is taken only where there is no way. */
export function isAllowedUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  if (url.username !== '' || url.password !== '' || url.hash !== '') return false;
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(host));
}

/** undici is loaded here and not earlier: most servers have no issuer. */
export const fetchJson: FetchJson = async (url) => {
  if (!isAllowedUrl(url)) throw new Error('its URL is neither https:// nor on loopback');
  const { Agent, request } = await import('undici');
  const agent = new Agent({
    connect: { timeout: OIDC.issuerTimeoutMs },
    maxResponseSize: OIDC.maxIssuerBytes,
  });
  try {
    const { statusCode, body } = await request(url, {
      dispatcher: agent,
      headers: { accept: 'application/json' },
      signal: AbortSignal.timeout(OIDC.issuerTimeoutMs),
    });
    if (statusCode !== 200) throw new Error(`it answered ${statusCode}`);
    return await body.json();
  } catch (error) {
    throw new Error(messageOf(error), { cause: error });
  } finally {
    await agent.destroy();
  }
};
