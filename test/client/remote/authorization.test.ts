import { expect, test } from 'vitest';
import { authorization } from '../../../client/remote/authorization.ts';

const PLAIN = new URL('http://127.0.0.1:8980');
const WITH_USER = new URL('http://me:my%20password@127.0.0.1:8980');

test('a token is sent without the trailing line break of its file', () => {
  expect(authorization(PLAIN, 'sesame\n')).toEqual({ authorization: 'Bearer sesame' });
});

test.each([undefined, '', ' ', '\n'])('%j counts as no token', (token) => {
  expect(authorization(PLAIN, token)).toEqual({});
  const basic = Buffer.from('me:my password').toString('base64');
  expect(authorization(WITH_USER, token)).toEqual({ authorization: `Basic ${basic}` });
});
