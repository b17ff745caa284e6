// What a connection is still being sent of a call that has ended. node:http2 says that a call is over as soon as it is, while
// the kernel may not have taken all of its bytes yet: memory that was used again by then would put somebody else's bytes into
// their place (docs/decisions/0213).
import { randomBytes } from 'node:crypto';
import type { Http2Session } from 'node:http2';

const PING_BYTES = 8;

const closings = new WeakMap<Http2Session, Promise<void>>();

/** Before its first call: whether it is closed already can't be asked later. */
export function trackClose(session: Http2Session): void {
  closings.set(session, new Promise((resolve) => session.once('close', resolve)));
}

/**
 * Resolves when nothing is under way any more of what was written before. A ping is sent after it, so its answer says so; a
 * client that does not give it in time, or gives a made-up one, is cut off.
 */
export async function untilWritesAreDone(session: Http2Session, withinMs: number): Promise<void> {
  let isOver = false;
  /** A process that was stopped comes to its timers before it looks at what has arrived meanwhile: hence the turn more. */
  const cut = () => setImmediate(() => isOver || session.destroy());
  const timer = setTimeout(cut, withinMs);
  await Promise.race([closings.get(session), answerToPing(session)]);
  isOver = true;
  clearTimeout(timer);
}

function answerToPing(session: Http2Session): Promise<void> {
  return new Promise((resolve) => {
    if (session.destroyed) return;
    const question = randomBytes(PING_BYTES);
    const isSent = session.ping(question, (error, _duration, answer) => {
      if (!error && question.equals(answer)) resolve();
      else session.destroy();
    });
    if (!isSent) session.destroy();
  });
}
