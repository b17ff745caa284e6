// For `node --import`: the accounting of the server that is started so can be switched off and on, by two signals that
// nothing else uses. The server itself has no such switch.
import { registerHooks } from 'node:module';

/** What was counted before goes on: it is counted within a tenth of a second, and written by the next flush. */
export const OFF = 'SIGUSR2';
export const ON = 'SIGWINCH';

const COUNTING = '/server/request/accounting.ts';
const SWITCHED = new URL('switched-accounting.ts', import.meta.url).href;

registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    const isReplaced = found.url.endsWith(COUNTING) && context.parentURL !== SWITCHED;
    return isReplaced ? { ...found, url: SWITCHED } : found;
  },
});
