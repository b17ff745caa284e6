// Tokens of one namespace are one sender; two namespaces are never one.
import { expect, test } from 'vitest';
import { clientSender } from '../../../client/local-store/outbox-sender.ts';
import { parseNamespace } from '../../../core/namespace.ts';
import { wrapInJwt } from '../../../core/tokens/jwt.ts';
import { ShortTokens } from '../../../server/access/short-tokens.ts';

const issuer = new ShortTokens(() => Buffer.alloc(32));

test('short tokens of one namespace send for each other, whatever else they say', () => {
  const issue = (namespace: string, minutes: number) =>
    issuer.issue({
      name: `job ${minutes}`,
      namespace: parseNamespace(namespace),
      reads: [],
      rights: new Set(['results:write']),
      expiresAt: Date.UTC(2030, 0) + minutes * 60_000,
    }).token;
  expect(clientSender(issue('acme/main', 1))).toBe(clientSender(issue('acme/main', 2)));
  expect(clientSender(issue('acme/main', 1))).not.toBe(clientSender(issue('acme/pr', 1)));
});

test('a short token in the form of a JWT is the same sender', () => {
  const { token } = issuer.issue({
    name: 'job',
    namespace: parseNamespace('acme/main'),
    reads: [],
    rights: new Set(['results:write']),
    expiresAt: Date.UTC(2030, 0),
  });
  const wrapped = wrapInJwt(token, {
    namespace: parseNamespace('acme/pr'),
    reads: [],
    mayRead: true,
    mayWrite: true,
    expiresAt: undefined,
  });
  expect(clientSender(wrapped)).toBe(clientSender(token));
});

test.each(['assay_0123', 'assay1-', 'assay1-AAAA.x', 'assay1-W10.x', 'h.c.YXNzYXkxLQ'])(
  'any other text is its own sender: %s',
  (token) => {
    expect(clientSender(token)).toMatch(/^ [0-9a-f]{64}$/);
    expect(clientSender(token)).not.toBe(clientSender(`${token}x`));
  },
);

test('without a token there is no sender', () => {
  expect([clientSender(undefined), clientSender('')]).toEqual(['', '']);
});
