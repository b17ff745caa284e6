// A command that prints nothing is told once; each write begins the time anew.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { QuietCommand } from '../quiet-command.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('says once that nothing was printed', () => {
  const say = vi.fn();
  const written: unknown[] = [];
  using quiet = new QuietCommand(1000, say);
  const stream = quiet.listened({ write: (data) => written.push(data) });
  vi.advanceTimersByTime(900);
  stream.write('text');
  vi.advanceTimersByTime(900);
  expect([written, say.mock.calls.length]).toEqual([['text'], 0]);
  vi.advanceTimersByTime(100);
  expect(say).toHaveBeenCalledOnce();
  vi.advanceTimersByTime(10_000);
  expect(say).toHaveBeenCalledOnce();
});

test('says nothing after the command has ended', () => {
  const say = vi.fn();
  {
    using _quiet = new QuietCommand(1000, say);
  }
  vi.advanceTimersByTime(10_000);
  expect(say).not.toHaveBeenCalled();
});
