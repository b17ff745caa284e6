// For `node --import`: the server that is started so has no accounting. The server itself has no such switch.
import { registerHooks } from 'node:module';

const COUNTING = '/server/activity/activity.ts';
const COUNTING_NOTHING = new URL('no-activity.ts', import.meta.url).href;

registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    return found.url.endsWith(COUNTING) ? { ...found, url: COUNTING_NOTHING } : found;
  },
});
