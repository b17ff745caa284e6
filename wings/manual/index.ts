// The wing manual: the documentation as pages, at /docs of a server. `npm run docs` makes them (site/build.ts).
import type { Wing } from '../../core/cli/wing.ts';
import type { ServerPort } from '../../server/server-port.ts';

export const wing: Wing & ServerPort = {
  commands: {},
  server: async () => (await import('./part.ts')).manualPart(),
};
