// The name of the sender of an outbox: jobs of a pull request and of main may share one store and one address, and none may
// publish what the other one made.
//
// The name of a sender reveals no token. Short tokens, which each job gets anew, are one sender for each namespace. Their text
// says the namespace; the server decides what it permits.
import { hash } from 'node:crypto';
import { unwrapJwt } from '../../core/tokens/jwt.ts';

const SHORT = /^assay1-([\w-]+)\./;

/** "" without a token. */
export function clientSender(token: string | undefined): string {
  if (!token) return '';
  return ` ${hash('sha256', namespaceOf(token) ?? namespaceOf(unwrapJwt(token) ?? '') ?? `token ${token}`)}`;
}

function namespaceOf(token: string): string | undefined {
  const [, claims] = SHORT.exec(token) ?? [];
  if (claims === undefined) return undefined;
  try {
    const [, namespace]: unknown[] = JSON.parse(Buffer.from(claims, 'base64url').toString());
    return typeof namespace === 'string' ? `namespace ${namespace}` : undefined;
  } catch {
    return undefined;
  }
}
