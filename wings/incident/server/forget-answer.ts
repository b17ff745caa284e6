// The answer of POST /admin/forget: JSON lines. {"progress":…} at most once a second, then {"report":…} or
// {"error":…}. A client that closes the connection stops the work; what is removed by then stays removed.

import { AssayError, messageOf } from '../../../core/errors.ts';
import type { Exchange } from '../../../server/http/exchange.ts';
import { forgetEntry } from '../../../store/log/write-log.ts';
import { type ForgetOptions, type ForgetProgress, forget } from '../../../store/review/forget.ts';
import { selectionTexts } from '../../../store/review/selection.ts';
import type { Review } from '../../../store/store.ts';
import { ADMIN } from '../limits.ts';

export async function answerForget(
  exchange: Exchange,
  review: Review,
  options: Pick<ForgetOptions, 'selection' | 'remove' | 'listed' | 'isAllowed'>,
): Promise<void> {
  const { response, server } = exchange;
  const send = (line: object) => response.write(`${JSON.stringify(line)}\n`);
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  exchange.begin(200, ['content-type', 'application/x-ndjson']);
  let saidAt = Date.now();
  let last: ForgetProgress = { examined: 0, matched: 0, removed: 0 };
  const onProgress = (progress: ForgetProgress) => {
    last = progress;
    if (Date.now() - saidAt < ADMIN.progressMs) return;
    saidAt = Date.now();
    send({ progress: { examined: last.examined, matched: last.matched, removed: last.removed } });
  };
  try {
    const work = () => forget(review, { ...options, onProgress, signal: gone.signal });
    send({ report: await server.lifecycle.whileWriting(work) });
  } catch (error) {
    server.log.warn({ err: error }, 'a forget was not finished');
    const { code, entry } =
      error instanceof AssayError ? error : new AssayError('ASSAY_INTERNAL', messageOf(error));
    send({ error: { code, detail: entry.summary } });
  } finally {
    if (options.remove)
      server.writeLog?.add(forgetEntry(selectionTexts(options.selection), last.removed, exchange.writer()));
    exchange.end();
  }
}
