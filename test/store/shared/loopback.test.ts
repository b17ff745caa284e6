import { expect, test } from 'vitest';
import { isLoopback } from '../../../store/shared/loopback.ts';

test.each(['127.0.0.1', '127.1.2.3', '::1', 'localhost'])('%s is a loopback host', (host) => {
  expect(isLoopback(host)).toBe(true);
});

test.each([
  '0.0.0.0',
  '::',
  '10.0.0.1',
  '192.168.0.1',
  'example.org',
  '128.0.0.1',
  '',
  '127.0.0.1.example.org',
])('%s is not a loopback host', (host) => {
  expect(isLoopback(host)).toBe(false);
});
