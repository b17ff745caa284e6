// For `node --import`: the accounting of the server that is started so can be switched off and on, by two signals that
// nothing else uses. The server itself has no such switch.
import { registerHooks } from 'node:module';

/** The server still adds what came before a signal, within a tenth of a second, and writes it at its next flush. */
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
