// The wing manual: the documentation as pages, at /docs of a server, and on the command line: `assay help TOPIC`.
// `npm run docs` makes the pages (site/build.ts).
import type { Wing } from '../../core/cli/wing.ts';
import type { ServerPort } from '../../server/server-port.ts';

export const wing: Wing & ServerPort = {
  commands: {
    help: {
      summary: 'print a page of the documentation, or what an error code means',
      load: async () => (await import('./help/command.ts')).helpCommand,
    },
  },
  server: async () => (await import('./part.ts')).manualPart(),
};
