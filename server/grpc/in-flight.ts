// Waits until the bytes that were written to an HTTP/2 session have left the process.
// Guarantee: once untilWritesAreDone resolves, nothing reads the memory of earlier writes.
//
// node:http2 reports the end of a call before the kernel has all of its bytes. Memory that is reused too
// early would send the bytes of another response (docs/decisions/0213).
import { randomBytes } from 'node:crypto';
import type { Http2Session } from 'node:http2';

const PING_BYTES = 8;

const closeEvents = new WeakMap<Http2Session, Promise<void>>();

/** Must run before the session's first call: a `close` event that has passed cannot be awaited. */
export function trackClose(session: Http2Session): void {
  closeEvents.set(session, new Promise((resolve) => session.once('close', resolve)));
}

/**
 * Sends a ping behind the written bytes, and resolves when its answer arrives or the session closes. A client
 * whose answer is late or wrong is cut.
 */
export async function untilWritesAreDone(session: Http2Session, withinMs: number): Promise<void> {
  let isOver = false;
  // After a pause of the process, timers run before arrived data is read. setImmediate lets the data come
  // first.
  const cut = () => setImmediate(() => isOver || session.destroy());
  const timer = setTimeout(cut, withinMs);
  await Promise.race([closeEvents.get(session), pingAnswered(session)]);
  isOver = true;
  clearTimeout(timer);
}

function pingAnswered(session: Http2Session): Promise<void> {
  return new Promise((resolve) => {
    if (session.destroyed) return;
    const payload = randomBytes(PING_BYTES);
    const isSent = session.ping(payload, (error, _duration, answer) => {
      if (!error && payload.equals(answer)) resolve();
      else session.destroy();
    });
    if (!isSent) session.destroy();
  });
}
